#pragma once
/// The worker group's machine with its commands as text, for tests.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "agent/group/worker_group.hpp"

namespace dlaunch::agent {

using Strings = std::vector<std::string>;

inline std::string text_of(const GroupCommand& command) {
    const std::string worker = std::to_string(command.worker);
    using Kind = GroupCommand::Kind;
    switch (command.kind) {
        case Kind::enter: return "-> " + std::string(name(command.state)) + ", " + std::string(name(command.event));
        case Kind::start_template: return "start template";
        case Kind::start: return "start " + worker;
        case Kind::hint: return "hint";
        case Kind::started: return "started";
        case Kind::fail: return (command.collateral ? "collateral " : "fail ") + worker;
        case Kind::collect: return "collect";
        case Kind::announce: return "announce";
        case Kind::stop: return "stop " + std::to_string(command.signal);
        case Kind::kill: return "kill";
        case Kind::look_for_orphans: return "look for orphans";
        case Kind::end_orphans: return "end orphans";
        case Kind::signal: return "signal " + std::to_string(command.signal);
        case Kind::report_unkillable: return "report unkillable";
        case Kind::cut_drain: return "cut drain";
        case Kind::sweep: return "sweep";
        case Kind::drain: return "drain";
        case Kind::finish: return command.succeeded ? "finish well" : "finish badly";
    }
    return "?";
}

class WorkerGroupTest : public testing::Test {
protected:
    explicit WorkerGroupTest(bool forks = false)
        : group({.stop_signal = SIGTERM, .grace = std::chrono::seconds(30), .forks = forks}) {}

    Strings commands() {
        Strings texts;
        for (const auto& command : group.take_commands()) texts.push_back(text_of(command));
        return texts;
    }
    /// Starts and executes that many workers.
    void run(int workers, bool has_peers = false) {
        group.assign(workers, now, has_peers);
        for (int worker = 0; worker < workers; ++worker) {
            group.made(worker);
            group.executed(worker, now);
            group.proceed(now);
        }
        ASSERT_EQ(group.state(), GroupState::running);
        commands();
    }
    /// The worker lived when the group was asked to stop, if it was.
    void end(int worker, bool well = true) {
        const bool asked = group.state() == GroupState::stopping || group.state() == GroupState::killing;
        group.ended(worker, {.well = well, .asked = asked}, now);
    }
    void lose_peer(int worker) { group.ended(worker, {.lost_peer = true}, now); }
    void end_with_message(int worker) { group.ended(worker, {.message_follows = true}, now); }
    void end_as_if_asked(int worker) { group.ended(worker, {.may_hold = true}, now); }
    void clear() {
        group.swept(0, now);
        group.drained(now);
    }

    base::Time now{std::chrono::seconds(1000)};
    WorkerGroup group;
};

}  // namespace dlaunch::agent
