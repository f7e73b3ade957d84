#include "rendezvous/auth/client_hello.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch::auth {
namespace {

std::string record(std::size_t length, char type = 0x16, char version = 3) {
    return std::string{type, version, 1, static_cast<char>(length >> 8), static_cast<char>(length & 0xff)} +
           std::string(length, 'x');
}

TEST(ClientHello, IsWholeWithItsLastByte) {
    const std::string bytes = record(300);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_EQ(client_hello(std::string_view(bytes).substr(0, length)), ClientHello::partial) << length;
    EXPECT_EQ(client_hello(bytes), ClientHello::whole);
    EXPECT_EQ(client_hello(bytes + "more"), ClientHello::whole);
}

TEST(ClientHello, IsNoneAtTheFirstByteThatDiffers) {
    EXPECT_EQ(client_hello("G"), ClientHello::none);
    EXPECT_EQ(client_hello("\x16\x02"), ClientHello::none);
}

TEST(ClientHello, IsNoneWhenItsHeadAnnouncesTooMuch) {
    EXPECT_EQ(client_hello(record(kMostClientHello - 5)), ClientHello::whole);
    EXPECT_EQ(client_hello(record(kMostClientHello - 4).substr(0, 5)), ClientHello::none);
}

}  // namespace
}  // namespace dlaunch::auth
