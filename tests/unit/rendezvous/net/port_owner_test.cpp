#include "rendezvous/net/port_owner.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rendezvous/base/listener.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(PortOwner, IsTheProcessThatListens) {
    const auto listener = store::open_listener("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    EXPECT_TRUE(port_owner(listener->port).ends_with(fmt::format(" (pid {})", getpid()))) << port_owner(listener->port);
}

TEST(PortOwner, IsNobodyOfAFreePort) {
    int port = 0;
    {
        const auto listener = store::open_listener("127.0.0.1", 0);
        ASSERT_TRUE(listener);
        port = listener->port;
    }
    EXPECT_EQ(port_owner(port), "");
}

}  // namespace
}  // namespace dlaunch::rendezvous
