#include "rendezvous/base/columns.hpp"

#include <gtest/gtest.h>

namespace dlaunch::base {
namespace {

TEST(Columns, TakesForWideWhatMayBe) {
    EXPECT_EQ(columns("\xE6\xBC\xA2\xE5\xAD\x97"), 4U) << "Han";
    EXPECT_EQ(columns("\xF0\x9F\x9A\x80"), 2U) << "picture";
    EXPECT_EQ(columns("\xE2\x8C\x9A\xE2\x97\xBD"), 4U) << "watch, square";
}

TEST(Columns, CountsTheCharactersOfBarsOnce) {
    EXPECT_EQ(columns("\xE2\x94\x81\xE2\x96\x88\xE2\x96\x8D"), 3U) << "line, blocks";
    EXPECT_EQ(columns("\xE2\xA0\x8B\xE2\x86\x92\xE2\x80\xA6"), 3U) << "Braille, arrow, dots";
}

TEST(LeastColumns, CountsWhatEveryTerminalShows) {
    EXPECT_EQ(least_columns("abc"), 3U);
    EXPECT_EQ(least_columns("gro\xC3\x9F"), 4U);
    EXPECT_EQ(least_columns("\xE6\xBC\xA2\xE5\xAD\x97"), 4U) << "Han";
    EXPECT_EQ(least_columns("\xE2\x96\x88\xE2\x96\x8D\xE2\xA0\x8B"), 3U) << "blocks and Braille";
}

TEST(LeastColumns, CountsNoCharacterThatMayJoinItsNeighbour) {
    EXPECT_EQ(least_columns("e\xCC\x81"), 1U) << "combining accent";
    EXPECT_EQ(least_columns("\xC2\xAD"), 0U) << "soft hyphen";
    EXPECT_EQ(least_columns("\xE2\x80\x8D"), 0U) << "joiner";
    EXPECT_EQ(least_columns("\xF0\x9F\x9A\x80"), 0U) << "picture";
    EXPECT_EQ(least_columns("\xFF\xFE"), 0U) << "no UTF-8";
}

TEST(LeastColumns, AreNeverMoreThanColumns) {
    for (unsigned code = 0x20; code < 0x10000; ++code) {
        std::string text;
        if (code < 0x80) {
            text = {static_cast<char>(code)};
        } else if (code < 0x800) {
            text = {static_cast<char>(0xC0 | (code >> 6U)), static_cast<char>(0x80 | (code & 0x3FU))};
        } else {
            text = {static_cast<char>(0xE0 | (code >> 12U)), static_cast<char>(0x80 | ((code >> 6U) & 0x3FU)),
                    static_cast<char>(0x80 | (code & 0x3FU))};
        }
        EXPECT_LE(least_columns(text), columns(text)) << code;
    }
}

}  // namespace
}  // namespace dlaunch::base
