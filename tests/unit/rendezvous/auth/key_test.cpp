#include "rendezvous/auth/key.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace dlaunch::auth {
namespace {

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

/// The vector was made with Python's hmac, from the definition in RFC 5869.
TEST(Key, IsTheHkdfOfTheToken) {
    const Key key = key_of(**OpenSsl::load(), "frobozz-is-a-token-of-forty-two-characters");
    EXPECT_EQ(hex({reinterpret_cast<const char*>(key.data()), key.size()}),
              "66708b19e3564a7ebc582997851f0b7f324db5ccddb2f528f427043a07f58600");
}

TEST(Key, HashIsSha256) {
    EXPECT_EQ(hex(sha256(**OpenSsl::load(), "abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace dlaunch::auth
