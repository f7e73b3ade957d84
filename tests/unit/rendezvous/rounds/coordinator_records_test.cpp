/// What is recorded for a successor, how often, and before which messages.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr int kNodes = 5'000;

/// Of one call. A Record that is not the first action is a failure.
std::vector<Snapshot> records(Job& job) {
    std::vector<Snapshot> found;
    const auto actions = job.coordinator.take_actions();
    for (const auto& action : actions)
        if (const auto* record = std::get_if<Coordinator::Record>(&action)) {
            EXPECT_EQ(&action, &actions.front());
            found.push_back(record->snapshot);
        }
    return found;
}

/// A running job of fixed size.
struct Large : Job {
    explicit Large(int max_restarts) : Job(kNodes, kNodes, max_restarts) {
        for (int node = 0; node < kNodes; ++node) join(node);
        EXPECT_EQ(coordinator.phase(), Coordinator::Phase::running);
    }
};

TEST(CoordinatorRecords, five_thousand_nodes_lost_at_once_are_one_record) {
    for (const int max_restarts : {0, 3}) {
        Large job(max_restarts);
        job.pass(4'900ms);
        std::vector<Snapshot> all;
        for (int tick = 0; tick < 20; ++tick) {
            job.now += 50ms;
            job.coordinator.tick(job.now);
            for (Snapshot& record : records(job)) all.push_back(std::move(record));
        }
        EXPECT_EQ(job.coordinator.nodes(), 0U);
        ASSERT_EQ(all.size(), 1U);
        EXPECT_EQ(all[0].progress.losses.size(), 5'000U);
        EXPECT_TRUE(all[0].round_over);
        EXPECT_EQ(all[0].verdict.has_value(), max_restarts == 0);
    }
}

TEST(CoordinatorRecords, five_thousand_good_byes_are_two_records) {
    for (const int max_restarts : {0, 3}) {
        Large job(max_restarts);
        std::vector<Snapshot> all;
        for (int node = 0; node < kNodes; ++node) {
            job.coordinator.received(job.now, Job::connection_of(node), Gone{});
            for (Snapshot& record : records(job)) all.push_back(std::move(record));
        }
        ASSERT_EQ(all.size(), 2U) << "the first, which stops the round, and the last";
        ASSERT_TRUE(all[0].stop);
        EXPECT_EQ(all[0].stop->verdict.has_value(), max_restarts == 0);
        EXPECT_EQ(all[1].verdict.has_value(), max_restarts == 0);
    }
}

TEST(CoordinatorRecords, five_thousand_nodes_that_join_again_are_one_record) {
    Large job(3);
    for (int node = 0; node < kNodes; ++node) job.dies(node);
    EXPECT_EQ(job.recorded.nodes, 0) << "unknown";
    std::vector<Snapshot> all;
    for (int node = 0; node < kNodes; ++node) {
        Join join;
        join.stamp.incarnation = 2;
        join.record.id = fmt::format("id{}", node);
        join.record.host = fmt::format("node{}", node);
        job.coordinator.received(job.now, Job::connection_of(node), Hello{"0.1.0", "job", 2});
        job.coordinator.received(job.now, Job::connection_of(node), join);
        for (Snapshot& record : records(job)) all.push_back(std::move(record));
    }
    job.pass(200ms);  // the pause after a quick loss
    EXPECT_EQ(job.coordinator.round(), 1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].nodes, 5'000);
}

TEST(CoordinatorRecords, while_too_few_nodes_gather_a_successor_waits_for_any) {
    Job job(2, 4, 3);
    for (int node : {0, 1, 2, 3}) job.join(node);
    for (int node : {1, 2, 3}) job.dies(node);
    job.over(0);
    ASSERT_EQ(job.coordinator.phase(), Coordinator::Phase::gathering);
    EXPECT_EQ(job.recorded.nodes, 0);
    auto options = Job::options(2, 4, 3);
    options.epoch = 2;
    options.succeeds = true;
    options.snapshot = job.recorded;
    Job next(options);
    next.comes_back(0, 0, 4, false);
    next.join(4);
    next.pass(4'900ms, {0, 4});
    EXPECT_FALSE(next.received<Assigned>(0)) << "a further node may have joined";
    next.pass(300ms, {0, 4});
    EXPECT_TRUE(next.received<Assigned>(0));
}

TEST(CoordinatorRecords, a_decision_that_stands_is_not_recorded_again) {
    Job job(3, 3);
    for (int node : {0, 1, 2}) job.join(node);
    job.coordinator.received(job.now, Job::connection_of(2), Gone{});
    const auto first = records(job);
    ASSERT_EQ(first.size(), 1U);
    ASSERT_TRUE(first[0].stop && first[0].stop->verdict);
    EXPECT_EQ(first[0].stop->verdict->reason, "node2 was lost: 2 of 3 nodes, no spare and no restart left");
    job.coordinator.received(job.now, Job::connection_of(1), Gone{});
    EXPECT_TRUE(records(job).empty());
}

TEST(CoordinatorRecords, what_a_call_decides_is_recorded_once_before_its_messages) {
    Job job(2, 2, 1);
    job.join(0), job.join(1);
    job.fails(0);
    job.over(0);
    job.coordinator.received(job.now, Job::connection_of(1), Report{job.stamp(), Report::Phase::over, false, {}});
    const auto actions = job.coordinator.take_actions();
    ASSERT_EQ(actions.size(), 4U);
    const auto* record = std::get_if<Coordinator::Record>(&actions[0]);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->snapshot.progress.restarts.used, 1);
    EXPECT_EQ(record->snapshot.round, 1);
    EXPECT_FALSE(record->snapshot.round_over);
    const auto sends = [&](std::size_t at) { return std::get<Coordinator::Send>(actions[at]).message; };
    EXPECT_TRUE(std::holds_alternative<Notice>(sends(1)));
    EXPECT_TRUE(std::holds_alternative<Assigned>(sends(2)) && std::holds_alternative<Assigned>(sends(3)));
    EXPECT_TRUE(job.coordinator.take_actions().empty());
}

}  // namespace
}  // namespace dlaunch::rendezvous
