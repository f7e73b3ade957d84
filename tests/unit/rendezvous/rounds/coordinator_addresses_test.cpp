#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

std::string master_address(const std::string& of_node_0, const std::string& of_node_1) {
    Job job(2, 2);
    job.other_address = of_node_0;
    job.join(0);
    job.other_address = of_node_1;
    job.join(1);
    return job.received<Assigned>(1)->master_addr;
}

TEST(CoordinatorAddresses, the_first_kind_is_assigned_where_all_nodes_have_it) {
    EXPECT_EQ(master_address("", ""), "10.0.0.0");
    EXPECT_EQ(master_address("fd00::a", ""), "10.0.0.0");
    EXPECT_EQ(master_address("fd00::a", "fd00::b"), "10.0.0.0");
}

TEST(CoordinatorAddresses, the_other_kind_is_assigned_where_a_node_lacks_the_first) {
    Job job(2, 2);
    job.other_address = "fd00::a";
    job.join(0);
    job.other_address = "";
    job.address = "fd00::b";
    job.join(1);
    EXPECT_EQ(job.received<Assigned>(0)->master_addr, "fd00::a");
    EXPECT_EQ(job.received<Assigned>(1)->master_addr, "fd00::a");
}

TEST(CoordinatorAddresses, the_hosts_first_one_is_assigned_where_none_is_common) {
    Job job(2, 2);
    job.join(0);
    job.address = "fd00::b";
    job.join(1);
    EXPECT_EQ(job.received<Assigned>(1)->master_addr, "10.0.0.0");
}

TEST(CoordinatorAddresses, jax_runs_its_coordinator_where_rank_0_is) {
    Job job(2, 2);
    job.blocks = {{1, 1, "worker"}};
    job.join(0);
    job.blocks = {{0, 1, "ps"}, {1, 1, "worker"}};
    job.join(1);
    const auto first = job.received<Assigned>(0), second = job.received<Assigned>(1);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->master_addr, "10.0.0.0");
    EXPECT_EQ(second->ranks.rank(0), 0);
    for (const auto& assigned : {*first, *second}) {
        EXPECT_EQ(assigned.jax_addr, "10.0.0.1");
        EXPECT_EQ(assigned.jax_port, 5001);
    }
}

}  // namespace
}  // namespace dlaunch::rendezvous
