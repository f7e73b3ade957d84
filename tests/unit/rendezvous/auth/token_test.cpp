#include "rendezvous/auth/token.hpp"

#include <gtest/gtest.h>

#include <string>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::auth {
namespace {

const std::string kText = "sixteen-bytes-xy";

std::string bytes_of(std::string_view text) {
    const auto token = token_of(text);
    return token ? std::string((*token)->bytes()) : "error";
}

TEST(Token, OneLineEndDoesNotCount) {
    EXPECT_EQ(bytes_of(kText), kText);
    EXPECT_EQ(bytes_of(kText + "\n"), kText);
    EXPECT_EQ(bytes_of(kText + "\r\n"), kText);
    EXPECT_EQ(bytes_of(kText + "\n\n"), kText + "\n");
    EXPECT_EQ(bytes_of(" " + kText), " " + kText);
}

TEST(Token, MayHoldAnyBytes) {
    const std::string text("sixteen\0bytes\n\xff\x01", 16);
    EXPECT_EQ(bytes_of(text), text);
}

TEST(Token, HasALength) {
    EXPECT_EQ(bytes_of("fifteen-bytes-x\n"), "error");
    EXPECT_EQ(bytes_of(""), "error");
    EXPECT_EQ(bytes_of(std::string(Token::kMost, 'x') + "\n"), std::string(Token::kMost, 'x'));
    EXPECT_EQ(bytes_of(std::string(Token::kMost + 1, 'x')), "error");
}

TEST(Token, IsInNoError) {
    const auto token = token_of("fifteen-bytes-x");
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().text.find("fifteen"), std::string::npos);
    EXPECT_EQ(token.error().status, exit_status::kUsage);
}

}  // namespace
}  // namespace dlaunch::auth
