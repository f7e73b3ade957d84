// The coordinator, the first one or a successor with a snapshot, under well-formed hostile messages, from several
// connections and in any order: its counters stay true, its messages can be decoded, and its timer does not spin.

#include <cstdlib>
#include <variant>

#include "rendezvous/rounds/coordinator.hpp"
#include "tests/fuzz/machine_input.hpp"

using namespace dlaunch::rendezvous;

namespace {

void check(Coordinator& coordinator) {
    if (!coordinator.is_consistent()) std::abort();
    for (const auto& action : coordinator.take_actions()) {
        if (const auto* send = std::get_if<Coordinator::Send>(&action))
            if (send->to.empty() || !dlaunch::fuzz::is_readable(send->message)) std::abort();
        if (const auto* record = std::get_if<Coordinator::Record>(&action))
            if (dlaunch::wire::decode_snapshot(dlaunch::wire::encode(record->snapshot)) != record->snapshot)
                std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dlaunch::fuzz::Input input(data, size);
    Time now{std::chrono::hours(1)};
    Coordinator::Options options;
    static_cast<JobConfig&>(options) = input.config();
    options.version = "1";
    options.job_id = "job";
    options.epoch = 1 + static_cast<std::uint64_t>(input.below(2));
    options.incarnation = 1;
    options.succeeds = options.epoch > 1;
    // A snapshot comes from a file of the guard through the decoder.
    if (options.succeeds && input.flag())
        options.snapshot = dlaunch::wire::decode_snapshot(dlaunch::wire::encode(input.snapshot()));
    Coordinator coordinator(options, now);
    check(coordinator);
    while (!input.empty()) {
        const auto connection = static_cast<ConnectionId>(1 + input.below(5));
        switch (input.below(9)) {
            case 0: coordinator.closed(now, connection, input.flag()); break;
            case 1: now += input.pause(); break;
            case 2: coordinator.granted(now + input.pause()); break;
            case 3: coordinator.received(now, connection, Hello{"1", "job", 1}); break;
            case 4: {
                const int rare = input.below(32);
                if (rare == 0) coordinator.resign(now);
                if (rare == 1 || rare == 2) coordinator.end_job(now, 143, "SIGTERM received", rare == 2);
                break;
            }
            default: {
                Message message;
                if (input.next(message)) coordinator.received(now, connection, message);
            }
        }
        check(coordinator);
        for (int spins = 0; coordinator.deadline() <= now; ++spins) {
            coordinator.tick(now);
            check(coordinator);
            if (coordinator.finished()) break;
            if (spins > 3) std::abort();
        }
    }
    return 0;
}
