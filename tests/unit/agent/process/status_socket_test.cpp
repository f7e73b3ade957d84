#include "agent/process/status_socket.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace dlaunch::agent {
namespace {

using Kind = StatusAnswer::Kind;

/// A name that no other process has.
std::string fresh_name() {
    static int count = 0;
    return fmt::format("test-{}-{}", getpid(), ++count);
}

const auto kGiveUp = [] { return false; };

StatusAnswer answer_on(const base::UniqueFd& connection) {
    pollfd ready{connection.get(), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 10'000), 1);
    return read_status(connection.get());
}

TEST(StatusSocket, EveryTaskReceivesTheStatus) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name);
    ASSERT_TRUE(listener);
    const auto first = connect_to_status(name, 1), second = connect_to_status(name, 2);
    ASSERT_TRUE(*first && *second);
    EXPECT_EQ(read_status(first->get()).kind, Kind::nothing);
    deliver_status(listener->get(), 7, 3, kGiveUp);
    for (const auto* task : {&first, &second}) {
        const StatusAnswer answer = answer_on(**task);
        EXPECT_EQ(answer.kind, Kind::status);
        EXPECT_EQ(answer.status, 7);
    }
}

TEST(StatusSocket, ALateTaskIsAwaited) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name);
    base::UniqueFd connection;
    deliver_status(listener->get(), 7, 2, [&] {
        auto connected = connect_to_status(name, 1);
        connection = std::move(*connected);
        return true;
    });
    EXPECT_EQ(answer_on(connection).status, 7);
}

TEST(StatusSocket, ATaskMayBeSuspendedBetweenItsConnectionAndItsIndex) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name);
    const base::UniqueFd task(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    const std::string abstract = fmt::format("dlaunch-{}-{}", geteuid(), name);
    const std::size_t length = abstract.copy(place.sun_path + 1, sizeof place.sun_path - 1);
    ASSERT_EQ(connect(task.get(), reinterpret_cast<const sockaddr*>(&place),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)),
              0);
    const std::jthread slow([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the suspension itself
        const std::int32_t index = 1;
        send(task.get(), &index, sizeof index, MSG_NOSIGNAL);
    });
    deliver_status(listener->get(), 7, 2, kGiveUp);
    const StatusAnswer answer = answer_on(task);
    EXPECT_EQ(answer.kind, Kind::status);
    EXPECT_EQ(answer.status, 7);
}

TEST(StatusSocket, ATaskThatNeverComesIsNotAwaitedForever) {
    const auto listener = open_status_socket(fresh_name());
    int asked = 0;
    deliver_status(listener->get(), 7, 2, [&] { return ++asked < 2; });
    EXPECT_EQ(asked, 2);
}

TEST(StatusSocket, ATaskThatWasServedBelongsToALaterRun) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name);
    const auto earlier = connect_to_status(name, 1), later = connect_to_status(name, 1);
    deliver_status(listener->get(), 7, 3, kGiveUp);
    EXPECT_EQ(answer_on(*earlier).kind, Kind::status);
    EXPECT_EQ(answer_on(*later).kind, Kind::later);
}

TEST(StatusSocket, ATaskThatComesAfterTheLastOneMustComeAgain) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name);
    const auto only = connect_to_status(name, 1), later = connect_to_status(name, 1);
    deliver_status(listener->get(), 7, 2, kGiveUp);
    EXPECT_EQ(answer_on(*only).kind, Kind::status);
    EXPECT_EQ(answer_on(*later).kind, Kind::later);
    EXPECT_FALSE(*connect_to_status(name, 1)) << "the guard exits next";
}

TEST(StatusSocket, ADeadGuardClosesEveryConnection) {
    const std::string name = fresh_name();
    auto listener = open_status_socket(name);
    const auto connection = connect_to_status(name, 1);
    listener->reset();
    EXPECT_EQ(answer_on(*connection).kind, Kind::died);
    EXPECT_FALSE(*connect_to_status(name, 1)) << "no process listens";
}

TEST(StatusSocket, ANameServesOneJob) {
    const std::string name = fresh_name();
    const auto listener = open_status_socket(name), other = open_status_socket(name);
    ASSERT_FALSE(other);
    EXPECT_TRUE(other.error().text.starts_with("another dlaunch of this task runs")) << other.error().text;
}

}  // namespace
}  // namespace dlaunch::agent
