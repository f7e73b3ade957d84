#pragma once
/// A member between a simulated agent and a simulated coordinator: records its actions and messages.

#include <optional>
#include <utility>
#include <vector>

#include "rendezvous/rounds/member.hpp"

namespace dlaunch::rendezvous {

using namespace std::chrono_literals;

class MemberNode {
public:
    MemberNode() : member(options(), now, 1) { listen(); }

    static Member::Options options() {
        Member::Options options;
        options.version = "0.1.0";
        options.job_id = "job";
        options.record.id = "n1";
        options.coordinator = "10.0.0.1:29400";
        return options;
    }
    void listen() {
        for (auto& action : member.take_actions()) done.push_back(std::move(action));
    }
    void receive(const Message& message) {
        member.received(now, message);
        listen();
    }
    void welcome() {
        member.connected(now);
        receive(Welcome{
            from, static_cast<std::uint64_t>(std::chrono::duration_cast<Milliseconds>(now.time_since_epoch()).count()),
            JobConfig{}, "node0"});
    }
    void assign(std::int32_t round) {
        from.round = round;
        Assigned assigned;
        assigned.stamp = from;
        receive(assigned);
    }
    /// Time passes; the coordinator returns beats at once if `answered`.
    void pass(Milliseconds time, bool answered) {
        for (const Time end = now + time; now < end;) {
            now += 50ms;
            member.tick(now);
            listen();
            if (auto beat = sent<Beat>(); beat && answered) receive(Beat{from, beat->number});
        }
    }
    /// The latest action, or message sent, of a kind; drops all actions of that kind.
    template <class T>
    std::optional<T> did() {
        std::optional<T> found;
        for (auto& action : done)
            if (auto* that = std::get_if<T>(&action)) found = *that;
        std::erase_if(done, [](const Member::Action& action) { return std::holds_alternative<T>(action); });
        return found;
    }
    template <class T>
    std::optional<T> sent() {
        std::optional<T> found;
        std::erase_if(done, [&](const Member::Action& action) {
            const auto* out = std::get_if<Member::SendOut>(&action);
            const auto* that = out ? std::get_if<T>(&out->message) : nullptr;
            if (that) found = *that;
            return that != nullptr;
        });
        return found;
    }

    Time now{1h};
    Stamp from{1, -1, 77};
    std::vector<Member::Action> done;
    Member member;
};

}  // namespace dlaunch::rendezvous
