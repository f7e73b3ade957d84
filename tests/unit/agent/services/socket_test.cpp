#include "agent/services/socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace dlaunch::agent {
namespace {

class AgentSocketTest : public testing::Test {
protected:
    base::UniqueFd connect() const {
        base::UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, socket_.path().c_str());
        EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return client;
    }
    static void say(const base::UniqueFd& client, std::string_view words) {
        EXPECT_EQ(send(client.get(), words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
    }

    base::Loop loop_;
    AgentSocket socket_{loop_, "", [] { return std::string("{}"); }};
};

TEST_F(AgentSocketTest, a_template_may_take_its_time_and_say_its_line_in_pieces) {
    bool template_comes = true;
    std::string reached;
    socket_.on_fork_point([&](pid_t peer) { return peer == getpid() && std::exchange(template_comes, false); },
                          [&](base::UniqueFd, pid_t peer, const std::string& said) {
                              EXPECT_EQ(peer, getpid());
                              reached = said;
                              loop_.stop();
                          });
    const base::UniqueFd expected = connect(), stranger = connect();
    const base::Watch answered = loop_.readable(stranger.get(), [&] {  // who came later has waited long enough
        char byte = 0;
        EXPECT_LT(recv(expected.get(), &byte, 1, MSG_DONTWAIT), 0) << "the template's connection is left alone";
        if (recv(stranger.get(), &byte, 1, MSG_DONTWAIT) != 1 || byte != '{') return;
        say(expected, "fork point it has");
        loop_.post([&] { loop_.post([&] { say(expected, " 2 threads\n"); }); });
    });
    loop_.run();
    EXPECT_EQ(reached, " it has 2 threads\n");
}

}  // namespace
}  // namespace dlaunch::agent
