#include "launcher/start/front_workers.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

agent::FrontNotice worker_ended(int round, int rank, int status) {
    agent::FrontNotice notice{.kind = agent::FrontNotice::Kind::worker, .round = round};
    notice.worker = {rank, 0, 100 + rank, status, 0, 0, 0, {"trainer"}};
    return notice;
}

std::vector<NodeState> states_of(std::initializer_list<const char*> names) {
    std::vector<NodeState> all(names.size());
    for (std::size_t at = 0; at < all.size(); ++at) all[at].plan.host.name = names.begin()[at];
    return all;
}

TEST(FrontWorkers, those_of_all_hosts_are_in_the_order_of_their_ranks) {
    auto all = states_of({"a", "b"});
    note_worker(worker_ended(0, 1, 3), all[0].workers);
    note_worker(worker_ended(0, 0, 0), all[1].workers);
    const auto workers = workers_of(all);
    ASSERT_EQ(workers.size(), 2u);
    EXPECT_EQ(workers[0].rank, 0);
    EXPECT_EQ(workers[0].host, "b");
    EXPECT_EQ(workers[1].host, "a");
    EXPECT_EQ(workers[1].exit_status, 3);
    EXPECT_EQ(workers[1].pid, 101);
    EXPECT_EQ(workers[1].role, "trainer");
}

TEST(FrontWorkers, only_the_last_round_counts_on_a_host_and_between_hosts) {
    auto all = states_of({"a", "b"});
    note_worker(worker_ended(0, 0, 1), all[0].workers);
    note_worker(worker_ended(0, 1, 1), all[1].workers);
    note_worker(worker_ended(1, 0, 0), all[1].workers);
    const auto workers = workers_of(all);
    ASSERT_EQ(workers.size(), 1u);
    EXPECT_EQ(workers[0].host, "b");
    EXPECT_EQ(workers[0].exit_status, 0);
}

TEST(FrontWorkers, none_have_ended) { EXPECT_TRUE(workers_of(states_of({"a"})).empty()); }

}  // namespace
}  // namespace dlaunch::launcher
