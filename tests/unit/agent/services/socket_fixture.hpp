#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "agent/services/socket.hpp"
#include "tests/support/agent/turn.hpp"

namespace dlaunch::agent {

class AgentSocketTest : public testing::Test {
protected:
    AgentSocketTest() {
        socket_.on_status([] { return std::string("{}"); });
    }

    static std::shared_ptr<const SocketFile> make_file() {
        auto file = std::make_shared<SocketFile>();
        file->make("", "/tmp");
        return file;
    }
    base::UniqueFd connect() const {
        base::UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, file_->path().c_str());
        EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return client;
    }
    static void send(const base::UniqueFd& client, std::string_view bytes) {
        EXPECT_EQ(::send(client.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    void turn() { agent::turn(loop_); }
    /// The bytes that have arrived.
    static std::string received(const base::UniqueFd& client) {
        std::string text(1 << 20, '\0');
        const ssize_t got = recv(client.get(), text.data(), text.size(), MSG_DONTWAIT);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }
    static bool ended(const base::UniqueFd& client) {
        char byte = 0;
        return recv(client.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
    }

    base::Loop loop_;
    const std::shared_ptr<const SocketFile> file_ = make_file();
    AgentSocket socket_{loop_, file_};
};

}  // namespace dlaunch::agent
