// The member's connection over loopback; a socket of the test acts as the coordinator.

#include "rendezvous/net/link.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "rendezvous/base/listener.hpp"
#include "tests/unit/rendezvous/rounds/agent_fixture.hpp"
#include "tests/unit/rendezvous/rounds/served_fixture.hpp"

namespace dlaunch::rendezvous {
namespace {

const Beat kBeat{{1, 2, 3}, 4};

/// Records a link's calls of its observer. `then` runs after each call.
struct Calls {
    MemberLink::Observer observer() {
        return {[this] { note("connected"); },
                [this](const ConnectFailure& failure) {
                    failures.push_back(failure);
                    note("failed");
                },
                [this](const Message& message) {
                    messages.push_back(message);
                    note("received");
                },
                [this](bool by_fin) { note(by_fin ? "closed in order" : "broken"); }};
    }
    void note(const std::string& call) {
        names.push_back(call);
        if (then) then();
    }

    std::vector<std::string> names;
    std::vector<ConnectFailure> failures;
    std::vector<Message> messages;
    std::function<void()> then;
};

ResolvedEndpoint here(int port) { return {{"127.0.0.1", port}, "127.0.0.1"}; }

/// A link and a port for it; `then` runs after each call, and true ends the run.
struct Line {
    void run(const std::function<void(Calls&)>& then, const std::function<void()>& coordinator = {}) {
        calls.then = [&] {
            if (calls.names.back() == "connected") link.send(kBeat);  // as a member, which always sends first
            then(calls);
        };
        link.connect();
        EXPECT_TRUE(calls.names.empty()) << "a call from inside of connect()";
        std::thread thread([&] {
            if (coordinator) coordinator();
        });
        loop.run();
        thread.join();
    }
    /// Runs until the last call is `name`.
    void run_until(const std::string& name, const std::function<void()>& coordinator) {
        run([&](Calls& now) { now.names.back() == name ? loop.stop() : void(); }, coordinator);
    }
    [[nodiscard]] std::string link_text() const { return "127.0.0.1:" + std::to_string(port.port); }
    MessagePeer accepted() {
        pollfd wait{port.socket.get(), POLLIN, 0};
        EXPECT_EQ(poll(&wait, 1, 30'000), 1);
        MessagePeer peer(Peer(base::UniqueFd(accept4(port.socket.get(), nullptr, nullptr, SOCK_CLOEXEC))));
        EXPECT_EQ(peer.peer().receive(wire::kGreeting.size()), wire::kGreeting);
        EXPECT_EQ(peer.receive<Beat>(), kBeat);
        return peer;
    }

    store::Listener port = *store::open_listener("127.0.0.1", 0);
    base::Loop loop;
    Calls calls;
    MemberLink link{loop, {here(port.port)}, calls.observer()};
};

TEST(MemberLink, greets_and_carries_messages_both_ways) {
    Line line;
    line.run(
        [&](Calls& calls) {
            if (calls.messages.size() == 2) line.loop.stop();
        },
        [&] {
            MessagePeer coordinator = line.accepted();
            coordinator.send(Notice{{}, "hello"});
            coordinator.send(kBeat);
        });
    ASSERT_EQ(line.calls.names, (std::vector<std::string>{"connected", "received", "received"}));
    EXPECT_EQ(std::get<Notice>(line.calls.messages[0]).text, "hello");
    EXPECT_EQ(std::get<Beat>(line.calls.messages[1]), kBeat);
}

TEST(MemberLink, resolves_a_name_again_when_all_its_addresses_have_failed) {
    const store::Listener port = *store::open_listener("127.0.0.1", 0);
    base::Loop loop;
    Calls calls;
    // No process listens at the name's old address.
    MemberLink link(loop, {{{"localhost", port.port}, "127.0.0.9"}}, calls.observer());
    calls.then = [&] {
        if (calls.names.back() == "connected") return loop.stop();
        EXPECT_EQ(calls.names.back(), "failed");
        if (calls.names.size() < 10) link.connect();
    };
    link.connect();
    loop.run();
    EXPECT_EQ(calls.names.back(), "connected");
}

TEST(MemberLink, dials_the_new_address_after_retarget) {
    Line line;
    const store::Listener other = *store::open_listener("127.0.0.1", 0);
    line.link.retarget({here(other.port)});
    line.run_until("connected", [&] {
        pollfd wait{other.socket.get(), POLLIN, 0};
        EXPECT_EQ(poll(&wait, 1, 30'000), 1);
    });
}

TEST(MemberLink, takes_a_message_that_comes_in_pieces) {
    Line line;
    line.run_until("received", [&] {
        MessagePeer coordinator = line.accepted();
        for (char byte : wire::encode(kBeat)) coordinator.peer().send({byte});
    });
    EXPECT_EQ(std::get<Beat>(line.calls.messages.at(0)), kBeat);
}

TEST(MemberLink, sends_more_than_the_kernel_takes_at_once) {
    const std::string record(wire::kMaxRecord, 'r');
    const Report report{{}, {}, false, Cause{1, "", "", false, record}};
    constexpr int kCount = 64;
    Line line;
    line.run(
        [&](Calls& calls) {
            if (calls.names.back() == "connected")
                for (int i = 0; i < kCount; ++i) line.link.send(report);
            if (calls.names.back() == "received") line.loop.stop();
        },
        [&] {
            MessagePeer coordinator = line.accepted();
            const std::string bytes = coordinator.peer().receive(kCount * wire::encode(report).size());
            EXPECT_TRUE(bytes.ends_with(record));
            coordinator.send(kBeat);
        });
    EXPECT_EQ(line.calls.names, (std::vector<std::string>{"connected", "received"}));
}

TEST(MemberLink, distinguishes_an_orderly_close_from_a_broken_connection) {
    Line orderly;
    orderly.run_until("closed in order", [&] { orderly.accepted().peer().leave(); });
    Line broken;
    broken.run_until("broken", [&] { broken.accepted().peer().break_off(); });
}

TEST(MemberLink, describes_a_listener_that_is_no_coordinator) {
    Line line;
    line.run_until("failed", [&] {
        MessagePeer other = line.accepted();
        other.peer().send("HTTP/1.1 400 Bad Request\r\n\r\n");
        EXPECT_TRUE(other.peer().closed());
    });
    const ConnectFailure& failure = line.calls.failures.at(0);
    EXPECT_FALSE(failure.refused);
    EXPECT_TRUE(failure.text.starts_with(line.link_text() + ": another service listens there: ")) << failure.text;
}

TEST(MemberLink, reports_broken_after_an_invalid_message) {
    Line line;
    line.run_until("broken", [&] {
        MessagePeer coordinator = line.accepted();
        coordinator.send(kBeat);
        coordinator.peer().send("HTTP/1.1 400 Bad Request\r\n\r\n");
        EXPECT_TRUE(coordinator.peer().closed());
    });
}

TEST(MemberLink, resolves_a_name_outside_the_loop) {
    Line line;
    Calls calls;
    MemberLink link(line.loop, {{{"localhost", line.port.port}, ""}}, calls.observer());
    calls.then = [&] {
        if (calls.names.back() == "connected") link.send(kBeat);
        if (calls.names.back() == "failed") link.connect();  // ::1 was tried first
        if (calls.names.back() == "received") line.loop.stop();
    };
    link.connect();
    std::thread coordinator([&] { line.accepted().send(kBeat); });
    line.loop.run();
    coordinator.join();
    EXPECT_EQ(calls.names.back(), "received");
}

TEST(MemberLink, resets_a_standing_connection_when_it_dials_again) {
    Line line;
    int connections = 0;
    line.run(
        [&](Calls& calls) {
            if (calls.names.back() == "connected" && ++connections == 1) line.link.connect();
            if (calls.names.back() == "received") line.loop.stop();
        },
        [&] {
            pollfd wait{line.port.socket.get(), POLLIN, 0};
            EXPECT_EQ(poll(&wait, 1, 30'000), 1);
            Peer first(base::UniqueFd(accept4(line.port.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)));
            EXPECT_FALSE(first.closed_in_order());
            line.accepted().send(kBeat);
        });
    EXPECT_EQ(line.calls.names, (std::vector<std::string>{"connected", "connected", "received"}));
}

TEST(MemberLink, disconnects_in_order_whatever_is_unread) {
    Line line;
    line.run(
        [&](Calls& calls) {
            if (calls.names.back() == "received") line.link.disconnect();
        },
        [&] {
            MessagePeer coordinator = line.accepted();
            std::string much;
            for (int i = 0; i < 2000; ++i) much += wire::encode(kBeat);
            coordinator.peer().send(much);
            EXPECT_TRUE(coordinator.peer().closed_in_order());
            line.loop.post([&] { line.loop.stop(); });
        });
    EXPECT_EQ(line.calls.names, (std::vector<std::string>{"connected", "received"}));
}

TEST(MemberLink, reports_that_no_process_listens) {
    Line line;
    line.port.socket.reset();
    line.run([&](Calls&) { line.loop.stop(); });
    ASSERT_EQ(line.calls.names, std::vector<std::string>{"failed"});
    EXPECT_TRUE(line.calls.failures[0].refused);
    EXPECT_EQ(line.calls.failures[0].text, line.link_text() + ": Connection refused");
}

TEST(MemberLink, reports_an_unknown_name) {
    base::Loop loop;
    Calls calls;
    calls.then = [&] { loop.stop(); };
    MemberLink link(loop, {{{"no-such-host.invalid", 29400}, ""}}, calls.observer());
    link.connect();
    loop.run();
    ASSERT_EQ(calls.names, std::vector<std::string>{"failed"});
    EXPECT_FALSE(calls.failures[0].refused);
    EXPECT_TRUE(calls.failures[0].text.starts_with("no-such-host.invalid:29400: "));
}

TEST(MemberLink, names_every_address_that_it_has_tried) {
    store::Listener first = *store::open_listener("127.0.0.1", 0), second = *store::open_listener("127.0.0.1", 0);
    base::Loop loop;
    Calls calls;
    MemberLink link(loop, {here(first.port), here(second.port), here(second.port)}, calls.observer());
    first.socket.reset();
    second.socket.reset();
    calls.then = [&] { calls.failures.size() < 3 ? link.connect() : loop.stop(); };
    link.connect();
    loop.run();
    const std::string one = here(first.port).endpoint.text() + ": Connection refused",
                      two = here(second.port).endpoint.text() + ": Connection refused";
    EXPECT_EQ(calls.failures.at(0).text, one);
    EXPECT_EQ(calls.failures.at(1).text, one + "; " + two);
    EXPECT_EQ(calls.failures.at(2).text, one + "; " + two) << "one name may have two addresses";
    EXPECT_TRUE(calls.failures.at(2).refused);
}

TEST(MemberLink, tries_addresses_in_turn_and_keeps_the_one_that_answers) {
    store::Listener nobody = *store::open_listener("127.0.0.1", 0);
    Line line;
    Calls calls;
    MemberLink link(line.loop, {here(nobody.port), here(line.port.port)}, calls.observer());
    nobody.socket.reset();
    calls.then = [&] {
        if (calls.names.back() == "connected") link.send(kBeat);
        if (calls.names.back() == "failed" || calls.names.back() == "closed in order") link.connect();
        if (calls.names.back() == "received") line.loop.stop();
    };
    link.connect();
    std::thread coordinator([&] {
        line.accepted().peer().leave();
        line.accepted().send(kBeat);
    });
    line.loop.run();
    coordinator.join();
    EXPECT_EQ(calls.names,
              (std::vector<std::string>{"failed", "connected", "closed in order", "connected", "received"}));
    EXPECT_FALSE(calls.failures.at(0).refused) << "one refusing address of several proves nothing";
}

/// A link with a token at the port of a server; runs until it has been called `name`.
Calls calls_until(const std::string& name, int port, base::Loop& loop, const char* token) {
    Calls calls;
    MemberLink link(loop, {here(port)}, calls.observer(), *auth::TlsContext::of(auth::Token(token)));
    calls.then = [&] {
        if (calls.names.back() == "connected") link.send(Hello{"1", "job", 1}), link.send(Beat{{}, 7});
        if (calls.names.back() == name) loop.stop();
    };
    link.connect();
    loop.run();
    calls.then = nullptr;
    return calls;
}

/// The coordinator is lost; the second of two standbys has taken over.
TEST(MemberLink, dials_the_standbys_after_the_address_that_was_lost) {
    Line line;
    store::Listener successor = *store::open_listener("127.0.0.1", 0);
    const base::UniqueFd closed = *store::bind_free_port("127.0.0.1");
    line.run(
        [&](Calls& calls) {
            if (calls.messages.size() == 1 && calls.names.back() == "received")
                line.link.set_standbys(
                    {here(line.port.port), here(store::bound_port(closed.get())), here(successor.port)});
            if (calls.messages.size() == 2) return line.loop.stop();
            if (calls.names.back() == "closed in order" || calls.names.back() == "failed") line.link.connect();
        },
        [&] {
            MessagePeer coordinator = line.accepted();
            coordinator.send(kBeat);
            line.port.socket.reset();
            coordinator.peer().leave();
            std::swap(line.port.socket, successor.socket);
            line.accepted().send(kBeat);
        });
    EXPECT_EQ(line.calls.names, (std::vector<std::string>{"connected", "received", "closed in order", "failed",
                                                          "failed", "connected", "received"}));
    for (const ConnectFailure& failure : line.calls.failures) EXPECT_TRUE(failure.has_more);
    EXPECT_EQ(line.link.place(), here(successor.port));
}

TEST(MemberLink, sends_inside_of_tls_what_was_sent_before_the_handshake) {
    const auto tls = *auth::TlsContext::of(auth::Token("a-token-of-this-test"));
    Served job({.version = "1", .job_id = "job"}, tls);
    const Calls calls = calls_until("received", job.port(), job.loop, "a-token-of-this-test");
    EXPECT_EQ(calls.names, (std::vector<std::string>{"connected", "received"}));
    ASSERT_TRUE(std::holds_alternative<Beat>(calls.messages.at(0)));
    EXPECT_EQ(std::get<Beat>(calls.messages[0]).number, 7U);
}

TEST(MemberLink, is_refused_by_a_coordinator_with_another_token_or_none) {
    const auto tls = *auth::TlsContext::of(auth::Token("a-token-of-this-test"));
    Served closed({.version = "1", .job_id = "job"}, tls);
    const Calls another = calls_until("failed", closed.port(), closed.loop, "quite-another-token");
    EXPECT_NE(another.failures.at(0).refusal.find("the job there has another token"), std::string::npos);
    EXPECT_FALSE(another.failures[0].foreign_service);

    Served open({.version = "1", .job_id = "job"});
    const Calls none = calls_until("failed", open.port(), open.loop, "quite-another-token");
    EXPECT_NE(none.failures.at(0).refusal.find("that job has none"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch::rendezvous
