/// When a round may begin.

#include "rendezvous/rounds/gathering.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using Step = Gathering::Step;

constexpr Time kBegan{1h};

JobConfig config(int min_nodes, Milliseconds last_call = 3s) {
    JobConfig job;
    job.min_nodes = min_nodes;
    job.max_nodes = 4;
    job.last_call = last_call;
    job.join_timeout = 20s;
    return job;
}

Gathering gathering(int min_nodes, bool is_first_round = true) {
    Gathering gathering;
    gathering.begin(kBegan, config(min_nodes), is_first_round, 10s, 10s);
    return gathering;
}

/// `ready` of `all` nodes can take part; the other nodes are cut off.
Gathering::Nodes nodes(std::size_t ready, std::size_t all) { return {all, ready, ready, 4, 0}; }

Step step(Gathering& gathering, Milliseconds at, const Gathering::Nodes& nodes) {
    return gathering.step(kBegan + at, gathering.not_before(), nodes);
}

TEST(Gathering, table) {
    struct Row {
        const char* what;
        int min_nodes;
        bool is_first_round;
        Milliseconds at;
        Gathering::Nodes nodes;
        Step expected;
    };
    const Row table[] = {
        {"all that may take part", 2, true, 0s, nodes(4, 4), Step::start},
        {"the others that are cut off are not needed", 2, true, 0s, nodes(4, 5), Step::start},
        {"too few", 2, false, 0s, nodes(1, 1), Step::wait},
        {"too few until the time-out", 2, false, 20s, nodes(1, 1), Step::timed_out},
        {"enough, and no last call after the first round", 2, false, 0s, nodes(2, 2), Step::start},
        {"enough, but one is cut off", 2, false, 0s, nodes(2, 3), Step::wait},
        {"enough, and no more time for that one", 2, false, 20s, nodes(2, 3), Step::start},
        {"enough, and the last call begins", 2, true, 0s, nodes(2, 2), Step::wait},
        {"known nodes alone are not ready", 2, false, 0s, {2, 2, 1, 4, 0}, Step::wait},
        {"members of a predecessor may still come", 1, false, 0s, {1, 1, 1, 4, 2}, Step::wait},
        {"all of them have come", 1, false, 0s, {2, 2, 2, 4, 2}, Step::start},
    };
    for (const Row& row : table) {
        Gathering machine = gathering(row.min_nodes, row.is_first_round);
        EXPECT_EQ(step(machine, row.at, row.nodes), row.expected) << row.what;
    }
}

TEST(Gathering, the_last_call_restarts_when_too_few_nodes_are_left) {
    Gathering machine = gathering(2);
    EXPECT_EQ(step(machine, 0s, nodes(2, 2)), Step::wait);
    EXPECT_EQ(machine.last_call(kBegan + 1s), Time::duration(2s));
    EXPECT_EQ(step(machine, 2s, nodes(1, 2)), Step::wait);
    EXPECT_FALSE(machine.last_call(kBegan + 2s));
    EXPECT_EQ(step(machine, 3s, nodes(2, 2)), Step::wait);
    EXPECT_EQ(step(machine, 5'999ms, nodes(2, 2)), Step::wait);
    EXPECT_EQ(step(machine, 6s, nodes(2, 2)), Step::start);
}

TEST(Gathering, nothing_starts_before_a_pause_is_over) {
    Gathering machine = gathering(2);
    machine.not_before(kBegan + 5s);
    machine.not_before(kBegan + 1s);
    EXPECT_EQ(step(machine, 4'999ms, nodes(4, 4)), Step::wait);
    EXPECT_EQ(machine.deadline(kBegan, machine.not_before()), kBegan + 5s);
    EXPECT_EQ(step(machine, 5s, nodes(4, 4)), Step::start);
    machine.not_before(kBegan + 60s);
    EXPECT_EQ(step(machine, 20s, nodes(4, 4)), Step::timed_out);
    machine.nothing_lives(kBegan + 20s);
    EXPECT_EQ(step(machine, 20s, nodes(4, 4)), Step::start);
}

TEST(Gathering, a_line_is_due_every_ten_seconds) {
    Gathering machine = gathering(2);
    EXPECT_FALSE(machine.progress_is_due(kBegan + 9'999ms));
    EXPECT_TRUE(machine.progress_is_due(kBegan + 11s));
    EXPECT_FALSE(machine.progress_is_due(kBegan + 20s));
    EXPECT_TRUE(machine.progress_is_due(kBegan + 21s));
}

}  // namespace
}  // namespace dlaunch::rendezvous
