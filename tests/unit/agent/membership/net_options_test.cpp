#include "agent/membership/net_options.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using rendezvous::Hosting;

Plan elastic() {
    Plan plan;
    plan.rendezvous.backend = Backend::c10d;
    plan.rendezvous.endpoint = "a:1,b";
    plan.rendezvous.endpoints.places = {{"a", 1}, {"b", 29400}};
    plan.rendezvous.job_id = "job";
    plan.rendezvous.min_nodes = 2;
    plan.rendezvous.max_nodes = 4;
    return plan;
}

TEST(NetOptions, the_discovery_request_contains_the_endpoints) {
    const auto request = discovery_request(elastic(), "node1");
    EXPECT_EQ(request.at.places, (std::vector<rendezvous::Endpoint>{{"a", 1}, {"b", 29400}}));
    EXPECT_EQ(request.job_id, "job");
    EXPECT_EQ(request.hosting, Hosting::at_own_place);
}

TEST(NetOptions, in_the_static_form_the_first_rank_hosts) {
    Plan plan = elastic();
    plan.rendezvous.backend = Backend::fixed_address;
    plan.rendezvous.node_rank = 0;
    EXPECT_EQ(discovery_request(plan, "x").hosting, Hosting::as_first);
    plan.rendezvous.node_rank = 1;
    EXPECT_EQ(discovery_request(plan, "x").hosting, Hosting::never);
    plan.rendezvous.node_rank.reset();
    EXPECT_EQ(discovery_request(plan, "x").hosting, Hosting::at_own_place) << "it has no rank of its own";
}

TEST(NetOptions, the_discovery_request_names_the_option_of_the_endpoint) {
    Plan plan = elastic();
    EXPECT_EQ(discovery_request(plan, "x").option, "--rdzv-endpoint");
    plan.rendezvous.backend = Backend::fixed_address;
    EXPECT_EQ(discovery_request(plan, "x").option, "--rdzv-endpoint");
    plan.rendezvous.endpoint.clear();
    EXPECT_EQ(discovery_request(plan, "x").option, "--master-addr");
}

TEST(NetOptions, is_host_decides_which_node_hosts) {
    Plan plan = elastic();
    plan.rendezvous.is_host = true;
    EXPECT_EQ(discovery_request(plan, "x").hosting, Hosting::always);
    plan.rendezvous.is_host = false;
    EXPECT_EQ(discovery_request(plan, "x").hosting, Hosting::never);
}

TEST(NetOptions, the_coordinator_gets_the_plan) {
    Plan plan = elastic();
    plan.rendezvous.last_call = 2500ms;
    plan.rendezvous.join_timeout = 9s;
    plan.rendezvous.node_timeout = 3s;
    plan.rendezvous.scale_up = ScaleUp::never;
    plan.rendezvous.expected_hosts = {"a", "b"};
    plan.restarts.max_restarts = 5;
    const auto options = coordinator_options(plan, "node1", 77);
    EXPECT_EQ(options.incarnation, 77U);
    EXPECT_EQ(options.last_call, 2500ms);
    EXPECT_EQ(options.join_timeout, 9s);
    EXPECT_EQ(options.node_timeout, 3s);
    EXPECT_EQ(options.scale_up, rendezvous::ScaleUp::never);
    EXPECT_EQ(options.expected_hosts, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(options.restarts.max_restarts, 5);
    EXPECT_EQ(options.min_nodes, 2);
    EXPECT_EQ(options.max_nodes, 4);
}

}  // namespace
}  // namespace dlaunch::agent
