#include "rendezvous/net/probe.hpp"

#include <gtest/gtest.h>

#include "tests/unit/rendezvous/rounds/served_fixture.hpp"

namespace dlaunch::rendezvous {
namespace {

using Kind = Answer::Kind;

constexpr Milliseconds kPatience{10'000};

TEST(Probe, finds_the_coordinator_of_the_job_and_joins_nothing) {
    Served job({.version = "1", .job_id = "job"});
    with_clients(job.loop, [port = job.port()] {
        EXPECT_EQ(probe("127.0.0.1", port, "1", "job", kPatience).kind, Kind::coordinator);
        const Answer other_job = probe("127.0.0.1", port, "1", "other", kPatience);
        EXPECT_EQ(other_job.kind, Kind::refused);
        EXPECT_NE(other_job.text.find("\"other\""), std::string::npos);
        EXPECT_EQ(probe("127.0.0.1", port, "2", "job", kPatience).kind, Kind::refused);
    });
    EXPECT_EQ(job.host->coordinator().nodes(), 0U);
}

TEST(Probe, a_store_is_a_foreign_service) {
    base::Loop loop;
    const auto server = store::Server::listen(loop, "127.0.0.1", 0);
    ASSERT_TRUE(server);
    with_clients(loop, [&] {
        const Answer answer = probe("127.0.0.1", (*server)->port(), "1", "job", kPatience);
        EXPECT_EQ(answer.kind, Kind::foreign_service);
        EXPECT_EQ(answer.text, "it closes the connection without sending a byte");
    });
}

TEST(Probe, a_closed_port_and_one_that_never_answers) {
    auto listener = store::open_listener("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    EXPECT_EQ(probe("127.0.0.1", listener->port, "1", "job", Milliseconds(1)).kind, Kind::silent);
    listener->socket.reset();
    EXPECT_EQ(probe("127.0.0.1", listener->port, "1", "job", kPatience).kind, Kind::closed_port);
    EXPECT_EQ(probe("no number", 1, "1", "job", Milliseconds(1)).kind, Kind::unreachable);
}

TEST(Probe, quotes_printable_replies) {
    EXPECT_EQ(describe_foreign_service("HTTP/1.1 400 Bad Request\r\nServer: x"),
              "it sends \"HTTP/1.1 400 Bad Request\"");
    EXPECT_EQ(describe_foreign_service("\x16\x03\x01"), "it speaks another protocol");
    EXPECT_EQ(describe_foreign_service(""), "it speaks another protocol");
    EXPECT_EQ(describe_foreign_service(std::string(100, 'a')).size(), std::string("it sends \"\"").size() + 40);
}

}  // namespace
}  // namespace dlaunch::rendezvous
