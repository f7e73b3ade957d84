// A member under well-formed hostile messages, connections that come and go, and an agent that reports anything: it
// starts nothing while something runs, it ends with nothing running, and its timer does not spin.

#include <cstdlib>
#include <utility>
#include <variant>

#include "rendezvous/rounds/member.hpp"
#include "tests/fuzz/machine_input.hpp"

using namespace dlaunch::rendezvous;

namespace {

struct Agent {
    explicit Agent(Member::Options options, Time now) : member(std::move(options), now, 1) { act(); }

    void act() {
        for (const auto& action : member.take_actions()) {
            if (ended) std::abort();  // nothing follows EndJob and gone()
            if (std::holds_alternative<Member::StartWorkers>(action)) {
                if (runs) std::abort();
                runs = true;
            } else if (const auto* send = std::get_if<Member::SendOut>(&action)) {
                if (!dlaunch::fuzz::is_readable(send->message)) std::abort();
            } else if (std::holds_alternative<Member::EndJob>(action)) {
                if (runs) std::abort();
                ended = true;
            }
        }
        if ((member.lease_until() != kNever) != runs && !member.ended()) std::abort();
    }

    /// The guard has died, and all workers with it.
    void gone() {
        member.gone();
        runs = false;
        act();
        ended = true;
    }

    Member member;
    bool runs = false, ended = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dlaunch::fuzz::Input input(data, size);
    Time now{std::chrono::hours(1)};
    Member::Options options;
    options.version = "1";
    options.job_id = "job";
    options.record.id = "a";
    options.fixed_coordinator = input.flag();
    Agent agent(options, now);
    while (!input.empty()) {
        switch (input.below(13)) {
            case 0: agent.member.closed(now, input.flag()); break;
            case 1: now += input.pause(); break;
            case 2: agent.member.connected(now); break;
            case 3: agent.member.connect_failed(now, {input.flag(), "why", input.flag()}); break;
            case 4: agent.member.moved(now, static_cast<std::uint64_t>(input.below(4))); break;
            case 5:
                if (agent.runs) agent.member.failed(now, input.cause());
                break;
            case 6:
                if (std::exchange(agent.runs, false)) agent.member.round_over(now, input.flag(), {});
                break;
            case 7:
                agent.member.leave(static_cast<Leave::Scope>(input.below(3)), 143, "SIGTERM");
                if (input.flag()) agent.member.leave_at_once();
                break;
            case 8: agent.member.fenced_by_guard(now, "it was frozen"); break;
            case 9:
                if (input.below(8) == 0) agent.gone();
                break;
            default: {
                Message message;
                if (input.next(message)) agent.member.received(now, message);
            }
        }
        agent.act();
        for (int spins = 0; agent.member.deadline() <= now; ++spins) {
            agent.member.tick(now);
            agent.act();
            if (spins > 5) std::abort();
        }
    }
    return 0;
}
