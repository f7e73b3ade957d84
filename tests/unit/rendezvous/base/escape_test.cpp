#include "rendezvous/base/escape.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlaunch::base {
namespace {

using namespace std::string_literals;

TEST(Utf8Length, KnowsWellFormedSequences) {
    EXPECT_EQ(utf8_length("a", 0), 1U);
    EXPECT_EQ(utf8_length("\xC3\x9F", 0), 2U);
    EXPECT_EQ(utf8_length("\xE6\xBC\xA2", 0), 3U);
    EXPECT_EQ(utf8_length("\xF0\x9F\x9A\x80", 0), 4U);
    EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF", 0), 4U);
}

TEST(Utf8Length, RefusesOverlongSurrogateTruncatedAndTooLarge) {
    for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3\x28", "\xE0\x9F\x80", "\xED\xA0\x80",
                            "\xE6\xBC", "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"})
        EXPECT_EQ(utf8_length(bad, 0), 0U) << json_string(bad);
}

TEST(Printable, LeavesTextAlone) {
    const std::string text = "said \"no\" and \\ 100% of %s {rank} ${x}\tzu gro\xC3\x9F \xE6\xBC\xA2";
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControlCharacters) {
    EXPECT_EQ(printable("\x1b[2J\a\r\n\x7f"), "\\x1b[2J\\x07\\x0d\\x0a\\x7f");
    EXPECT_EQ(printable("a\0b"s), "a\\x00b");
    EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");
    EXPECT_EQ(printable("a\u202Eb\u2069c\u202Fd\u2065"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa9c\u202Fd\u2065");
    EXPECT_EQ(printable("\xFF\xC3"), "\\xff\\xc3");
}

TEST(ValidUtf8, ChangesOnlyBadBytes) { EXPECT_EQ(valid_utf8("a\n\x1b\xFFz"), "a\n\x1b\\xffz"); }

TEST(JsonString, IsReadBackTheSame) {
    for (const std::string& text :
         {""s, "plain"s, "q\"b\\s/\b\f\n\r\t"s, "a\0b\x7f"s, "\xE6\xBC\xA2 \xF0\x9F\x9A\x80"s})
        EXPECT_EQ(nlohmann::json::parse(json_string(text)), text);
}

TEST(JsonString, ShowsBadBytes) { EXPECT_EQ(nlohmann::json::parse(json_string("a\xFF")), "a\\xff"); }

}  // namespace
}  // namespace dlaunch::base
