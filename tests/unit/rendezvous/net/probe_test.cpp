#include "rendezvous/net/probe.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

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

TEST(Probe, says_which_side_has_no_token_or_another_one) {
    const auto tls_of = [](const char* token) { return *auth::TlsContext::of(auth::Token(token)); };
    const auto ours = tls_of("a-token-of-this-test"), other = tls_of("quite-another-token");
    std::vector<std::string> lines;
    Served closed({.version = "1", .job_id = "job"}, ours, [&](const std::string& line) { lines.push_back(line); });
    with_clients(closed.loop, [&, port = closed.port()] {
        EXPECT_EQ(probe("127.0.0.1", port, "1", "job", kPatience, ours).kind, Kind::coordinator);
        EXPECT_EQ(probe("127.0.0.1", port, "1", "other", kPatience, ours).kind, Kind::refused);
        const Answer another = probe("127.0.0.1", port, "1", "job", kPatience, other);
        EXPECT_EQ(another.kind, Kind::refused);
        EXPECT_TRUE(another.text.starts_with("the job there has another token")) << another.text;
        const Answer none = probe("127.0.0.1", port, "1", "job", kPatience);
        EXPECT_EQ(none.kind, Kind::refused);
        EXPECT_TRUE(none.text.starts_with("this node has no token and that job has one")) << none.text;
    });
    EXPECT_EQ(lines, std::vector<std::string>{"refused a connection from 127.0.0.1: it has another token"});

    Served open({.version = "1", .job_id = "job"});
    with_clients(open.loop, [&, port = open.port()] {
        const Answer none = probe("127.0.0.1", port, "1", "job", kPatience, ours);
        EXPECT_EQ(none.kind, Kind::refused);
        EXPECT_TRUE(none.text.starts_with("this node has a token and that job has none")) << none.text;
    });
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

TEST(Probe, insists_on_an_answer_of_a_service_that_waits_for_more_input) {
    auto listener = store::open_listener("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const std::jthread service([&] {
        for (int count = 0; count < 2; ++count) {
            int connection = -1;
            while ((connection = accept(listener->socket.get(), nullptr, nullptr)) < 0) std::this_thread::yield();
            std::array<char, 256> bytes;
            while (recv(connection, bytes.data(), bytes.size(), 0) > 0) continue;
            if (count == 0) send(connection, "501 more\r\n", 10, MSG_NOSIGNAL);
            close(connection);
        }
    });
    constexpr Milliseconds kShort{200};
    const Answer answer = probe("127.0.0.1", listener->port, "1", "job", kShort, nullptr, true);
    EXPECT_EQ(answer.kind, Kind::foreign_service);
    EXPECT_EQ(answer.text, "it sends \"501 more\"");
    EXPECT_EQ(probe("127.0.0.1", listener->port, "1", "job", kShort).kind, Kind::silent);
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
