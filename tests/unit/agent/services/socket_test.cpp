#include "agent/services/socket.hpp"

#include <sys/resource.h>

#include "tests/unit/agent/services/socket_fixture.hpp"

namespace dlaunch::agent {
namespace {

TEST_F(AgentSocketTest, status_is_answered_and_the_stream_ends) {
    const base::UniqueFd client = connect();
    send(client, "status\n");
    turn();
    EXPECT_EQ(received(client), "{}\n");
    EXPECT_TRUE(ended(client));
}

TEST_F(AgentSocketTest, a_client_that_ends_its_side_without_a_line_gets_the_status) {
    const base::UniqueFd client = connect();
    shutdown(client.get(), SHUT_WR);
    turn();
    EXPECT_EQ(received(client), "{}\n");
}

TEST_F(AgentSocketTest, a_silent_client_is_sent_nothing) {
    const base::UniqueFd client = connect();
    turn();
    EXPECT_FALSE(ended(client)) << "it may be preempted between connect and send";
    send(client, "sta");
    turn();
    EXPECT_FALSE(ended(client));
    send(client, "tus\n");
    turn();
    EXPECT_EQ(received(client), "{}\n");
}

TEST_F(AgentSocketTest, a_request_goes_to_its_handler_with_its_arguments) {
    std::vector<std::string> requests;
    socket_.on_request("fork point", [&](AgentSocket::Request request) {
        EXPECT_EQ(request.peer, getpid());
        EXPECT_TRUE(request.connection);
        requests.push_back(request.arguments);
    });
    for (const char* line : {"fork point\n", "fork point it has 2 threads\n", "fork pointless\n"}) {
        const base::UniqueFd client = connect();
        send(client, line);
        turn();
    }
    EXPECT_EQ(requests, (std::vector<std::string>{"", "it has 2 threads"}));
}

TEST_F(AgentSocketTest, another_line_is_an_error) {
    for (const std::string& line :
         {std::string("\n"), std::string("lossless\n"), std::string("\0\n", 2), std::string(20'000, 'x')}) {
        const base::UniqueFd client = connect();
        send(client, line);
        turn();
        EXPECT_TRUE(received(client).starts_with("error ")) << line.substr(0, 20);
    }
}

TEST_F(AgentSocketTest, a_reply_longer_than_the_socket_holds_comes_whole) {
    socket_.on_status([] { return std::string(2 << 20, 'x'); });
    const base::UniqueFd client = connect();
    send(client, "status\n");
    std::string all;
    for (int i = 0; i < 1000 && !ended(client); ++i) {
        turn();
        all += received(client);
    }
    EXPECT_EQ(all.size(), (2UL << 20) + 1);
}

TEST_F(AgentSocketTest, clients_wait_while_descriptors_are_short) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const base::UniqueFd client = connect();
    send(client, "status\n");
    rlimit none = before;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    turn();
    EXPECT_FALSE(ended(client));
    setrlimit(RLIMIT_NOFILE, &before);
    std::string answer;
    while (answer.empty()) {
        await_callback(loop_);  // among them the end of the pause
        answer = received(client);
    }
    EXPECT_EQ(answer, "{}\n");
}

}  // namespace
}  // namespace dlaunch::agent
