#include "rendezvous/discovery/fixed.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/rendezvous/rounds/served_fixture.hpp"

namespace dlaunch::rendezvous {
namespace {

DiscoveryRequest request_for(const std::string& host, int port) {
    DiscoveryRequest request;
    request.at.places = {{host, port}};
    request.host_name = "node1";
    request.version = "1";
    request.job_id = "job";
    return request;
}

/// A port of this host that is bound without a listener.
struct Held {
    Held() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
        EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        port = ntohs(address.sin_port);
    }
    base::UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int port = 0;
};

TEST(Fixed, hosts_where_the_endpoint_is_ours) {
    const auto found = FixedDiscovery(request_for("127.0.0.1", 0)).find();
    ASSERT_TRUE(found && found->listener);
    EXPECT_EQ(found->places, (std::vector<ResolvedEndpoint>{{{"127.0.0.1", found->listener->port}, "127.0.0.1"}}));
}

TEST(Fixed, a_port_that_is_bound_without_a_listener_is_reported_as_in_use) {
    const Held held;
    const auto found = FixedDiscovery(request_for("127.0.0.1", held.port)).find();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().text, "--rdzv-endpoint: 127.0.0.1:" + std::to_string(held.port) +
                                      ": Address already in use, by a process that does not answer, expected a "
                                      "free port");
    EXPECT_EQ(found.error().status, 83);
}

TEST(Fixed, a_port_that_becomes_free_is_taken) {
    Held held;
    FixedDiscovery discovery(request_for("127.0.0.1", held.port));
    std::thread owner([&] { held.socket.reset(); });
    const auto found = discovery.find();
    owner.join();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
}

TEST(Fixed, the_first_process_at_the_port_hosts) {
    Served job({.version = "1", .job_id = "job"});
    with_clients(job.loop, [port = job.port()] {
        const auto found = FixedDiscovery(request_for("127.0.0.1", port)).find();
        ASSERT_TRUE(found);
        EXPECT_FALSE(found->listener);
        EXPECT_EQ(found->places.front().address, "127.0.0.1");
    });
}

TEST(Fixed, is_host_makes_this_node_host_at_any_endpoint) {
    DiscoveryRequest request = request_for("192.0.2.1", 0);  // no host has this address
    request.local_addr = "127.0.0.1";
    EXPECT_FALSE(FixedDiscovery(request).find()->listener);
    request.hosting = Hosting::always;
    auto found = FixedDiscovery(request).find();
    ASSERT_TRUE(found && found->listener);
    EXPECT_EQ(found->places.front().address, "127.0.0.1");
    request.at.places = {{"nobody.invalid", 0}};
    EXPECT_TRUE(FixedDiscovery(request).find()->listener) << "its own name may be known only when it answers";
}

TEST(Fixed, a_node_that_is_told_to_host_joins_a_coordinator_that_answers_at_the_endpoint) {
    Served job({.version = "1", .job_id = "job"});
    with_clients(job.loop, [port = job.port()] {
        DiscoveryRequest request = request_for("2130706433", port);  // 127.0.0.1, but not written as a loopback address
        request.local_addr = "127.0.0.2";
        request.hosting = Hosting::always;
        const auto found = FixedDiscovery(request).find();
        ASSERT_TRUE(found);
        EXPECT_FALSE(found->listener);
        EXPECT_EQ(found->places.front().address, "127.0.0.1");
        EXPECT_EQ(found->warning, "--rdzv-endpoint: a coordinator answers at 2130706433:" + std::to_string(port) +
                                      " already, so this node joins there and does not host, expected is_host=true "
                                      "only on the node that hosts");
        request.local_addr = "127.0.0.1";
        const auto own = FixedDiscovery(request).find();
        ASSERT_TRUE(own);
        EXPECT_FALSE(own->listener);
        EXPECT_EQ(own->warning, "") << "its agent was started again beside the coordinator";
    });
}

TEST(Fixed, a_missing_endpoint_is_named_by_its_option) {
    DiscoveryRequest request;
    request.option = "--master-addr";
    EXPECT_EQ(FixedDiscovery(request).find().error().text,
              "--master-addr: nothing given, expected HOST:PORT of the coordinator");
}

}  // namespace
}  // namespace dlaunch::rendezvous
