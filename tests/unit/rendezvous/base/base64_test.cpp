#include "rendezvous/base/base64.hpp"

#include <gtest/gtest.h>

namespace dlaunch::base {
namespace {

TEST(Base64, HasTheVectorsOfItsStandard) {
    for (const auto& [bytes, text] : {std::pair{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foobar", "Zm9vYmFy"}}) {
        EXPECT_EQ(to_base64(bytes), text);
        EXPECT_EQ(from_base64(text), bytes);
    }
}

TEST(Base64, KeepsAnyBytes) {
    const std::string bytes("\0\n\xff\x80", 4);
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
}

TEST(Base64, TakesNoOtherCharacters) {
    for (const char* text : {"Zm9v\n", "Zm9-", " Zg==", "Z\xff"}) EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace dlaunch::base
