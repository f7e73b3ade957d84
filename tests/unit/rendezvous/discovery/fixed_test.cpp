#include "rendezvous/discovery/fixed.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/rendezvous/rounds/served_fixture.hpp"

namespace dlaunch::rendezvous {
namespace {

Question question_for(const std::string& host, int port) {
    Question question;
    question.at.places = {{host, port}};
    question.host_name = "node1";
    question.version = "1";
    question.job_id = "job";
    return question;
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
    const auto found = FixedDiscovery(question_for("127.0.0.1", 0)).find();
    ASSERT_TRUE(found && found->listener);
    EXPECT_EQ(found->places, (std::vector<ResolvedEndpoint>{{{"127.0.0.1", found->listener->port}, "127.0.0.1"}}));
}

TEST(Fixed, a_port_that_is_bound_without_a_listener_is_reported_as_in_use) {
    const Held held;
    const auto found = FixedDiscovery(question_for("127.0.0.1", held.port)).find();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().text, "--rdzv-endpoint: 127.0.0.1:" + std::to_string(held.port) +
                                      ": Address already in use, by a process that does not answer, expected a "
                                      "free port");
    EXPECT_EQ(found.error().status, 83);
}

TEST(Fixed, a_port_that_becomes_free_is_taken) {
    Held held;
    FixedDiscovery discovery(question_for("127.0.0.1", held.port));
    std::thread owner([&] { held.socket.reset(); });
    const auto found = discovery.find();
    owner.join();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
}

TEST(Fixed, who_came_first_on_this_machine_hosts) {
    Served job({.version = "1", .job_id = "job"});
    with_clients(job.loop, [port = job.port()] {
        const auto found = FixedDiscovery(question_for("127.0.0.1", port)).find();
        ASSERT_TRUE(found);
        EXPECT_FALSE(found->listener);
        EXPECT_EQ(found->places.front().address, "127.0.0.1");
    });
}

TEST(Fixed, the_user_is_believed_that_this_node_hosts) {
    Question question = question_for("192.0.2.1", 0);  // no host has this address
    question.local_addr = "127.0.0.1";
    EXPECT_FALSE(FixedDiscovery(question).find()->listener);
    question.hosting = Hosting::always;
    auto found = FixedDiscovery(question).find();
    ASSERT_TRUE(found && found->listener);
    EXPECT_EQ(found->places.front().address, "127.0.0.1");
    question.at.places = {{"nobody.invalid", 0}};
    EXPECT_TRUE(FixedDiscovery(question).find()->listener) << "its own name may be known only when it answers";
}

TEST(Fixed, an_endpoint_that_is_missing_is_named_as_the_user_would) {
    Question question;
    question.option = "--master-addr";
    EXPECT_EQ(FixedDiscovery(question).find().error().text,
              "--master-addr: nothing given, expected HOST:PORT of the coordinator");
}

}  // namespace
}  // namespace dlaunch::rendezvous
