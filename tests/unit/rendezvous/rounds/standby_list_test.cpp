#include "rendezvous/rounds/standby_list.hpp"

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A job whose coordinator holds a claim, on the host of this name.
struct MovableJob : Job {
    MovableJob(int min_nodes, int max_nodes, const std::string& host = "elsewhere")
        : Job(options_on(host, min_nodes, max_nodes)) {
        coordinator.granted(now + 1h);
        may_stand_by = true;
    }
    static Coordinator::Options options_on(const std::string& host, int min_nodes, int max_nodes) {
        auto options = Job::options(min_nodes, max_nodes, 0);
        options.host = host;
        return options;
    }
};

/// The numbers of the standbys in the latest message to this node; none: no new message.
std::optional<std::vector<int>> told(Job& job, int node) {
    const auto standbys = job.received<Standbys>(node);
    if (!standbys) return {};
    std::vector<int> nodes;
    for (const StandbyPlace& place : standbys->places) {
        nodes.push_back(place.port - 6000);
        EXPECT_EQ(place.host, fmt::format("10.0.0.{}", nodes.back()));
    }
    return nodes;
}

using Nodes = std::vector<int>;

TEST(StandbyList, the_first_three_are_named_to_all_and_to_later_nodes) {
    MovableJob job(5, 5);
    for (int node = 0; node < 3; ++node) job.join(node);
    for (int node = 0; node < 3; ++node) EXPECT_EQ(told(job, node), (Nodes{0, 1, 2}));
    job.join(3);
    EXPECT_EQ(told(job, 3), (Nodes{0, 1, 2}));
    EXPECT_FALSE(told(job, 0));
}

TEST(StandbyList, spares_precede_members_in_the_order_of_their_arrival) {
    MovableJob job(2, 2);
    for (int node = 0; node < 2; ++node) job.join(node);
    EXPECT_EQ(told(job, 0), (Nodes{0, 1}));
    job.join(3);
    EXPECT_EQ(told(job, 0), (Nodes{3, 0, 1}));
    job.join(2);
    EXPECT_EQ(told(job, 1), (Nodes{3, 2, 0}));
    job.join(4);
    EXPECT_EQ(told(job, 1), (Nodes{3, 2, 4}));
    job.join(5);
    EXPECT_FALSE(told(job, 1));
    EXPECT_EQ(told(job, 5), (Nodes{3, 2, 4}));
}

TEST(StandbyList, a_lost_or_leaving_standby_is_replaced) {
    MovableJob job(2, 2);
    for (int node = 0; node < 6; ++node) job.join(node);
    EXPECT_EQ(told(job, 0), (Nodes{2, 3, 4}));
    job.dies(3);
    EXPECT_EQ(told(job, 0), (Nodes{2, 4, 5}));
    job.send(2, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    EXPECT_EQ(told(job, 0), (Nodes{4, 5, 0}));
}

TEST(StandbyList, the_coordinators_own_host_comes_last) {
    MovableJob job(4, 4, "node0");
    for (int node = 0; node < 4; ++node) job.join(node);
    EXPECT_EQ(told(job, 3), (Nodes{1, 2, 3}));
}

TEST(StandbyList, a_node_without_a_port_is_none) {
    MovableJob job(3, 3);
    job.may_stand_by = false;
    job.join(0);
    EXPECT_FALSE(told(job, 0));
    job.may_stand_by = true;
    job.join(1);
    EXPECT_EQ(told(job, 0), Nodes{1});
}

TEST(StandbyList, at_a_fixed_address_there_is_none) {
    Job job(2, 2);
    job.may_stand_by = true;
    for (int node = 0; node < 2; ++node) job.join(node);
    EXPECT_FALSE(told(job, 0));
}

TEST(StandbyList, a_successor_names_its_own) {
    MovableJob first(2, 2);
    for (int node = 0; node < 2; ++node) first.join(node);
    Job next = replacement_of(first);
    next.coordinator.granted(next.now + 1h);
    next.comes_back(0, 0, 2);
    EXPECT_FALSE(told(next, 0)) << "the node has reported no port";
    next.may_stand_by = true;
    next.join(5);
    EXPECT_EQ(told(next, 0), Nodes{5});
}

}  // namespace
}  // namespace dlaunch::rendezvous
