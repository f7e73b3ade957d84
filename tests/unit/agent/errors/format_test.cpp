#include "agent/errors/format.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(DurationText, ChoosesTheUnit) {
    EXPECT_EQ(duration_text(0), "0 ms");
    EXPECT_EQ(duration_text(-1), "0 ms");
    EXPECT_EQ(duration_text(0.045), "45 ms");
    EXPECT_EQ(duration_text(0.3), "0.3 s");
    EXPECT_EQ(duration_text(12.34), "12.3 s");
    EXPECT_EQ(duration_text(2712), "45 min 12 s");
    EXPECT_EQ(duration_text(29531), "8 h 12 min");
    EXPECT_EQ(duration_text(86400 * 3 + 3600 * 4), "3 d 4 h");
}

TEST(SizeText, ChoosesTheUnit) {
    EXPECT_EQ(size_text(0), "0 B");
    EXPECT_EQ(size_text(900.0 * 1024 * 1024), "900 MiB");
    EXPECT_EQ(size_text(1.25 * 1024 * 1024 * 1024), "1.2 GiB");
    EXPECT_EQ(size_text(1024.0 * 1024 - 1), "1 MiB");
    EXPECT_EQ(size_text(4096.0 * 1024 * 1024 * 1024 * 1024), "4096 TiB");
}

TEST(Columns, CountsWideCharactersTwice) {
    EXPECT_EQ(columns("abc"), 3U);
    EXPECT_EQ(columns("gro\xC3\x9F"), 4U);
    EXPECT_EQ(columns("\xE6\xBC\xA2\xE5\xAD\x97"), 4U);
    EXPECT_EQ(columns("\xF0\x9F\x9A\x80"), 2U);
    EXPECT_EQ(columns("\xFF\xFE"), 2U);
}

TEST(ShortenMiddle, KeepsBothEnds) {
    EXPECT_EQ(shorten_middle("node0123", 8), "node0123");
    EXPECT_EQ(shorten_middle("long-node-name-0123", 13), "long-...-0123");
    EXPECT_EQ(shorten_middle("abcdef", 3), "...");
    EXPECT_EQ(shorten_middle("abcdef", 0), "...");
}

TEST(ShortenMiddle, NeverCutsACharacter) {
    const std::string wide = "\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2";
    EXPECT_EQ(shorten_middle(wide, 8), "\xE6\xBC\xA2...\xE6\xBC\xA2");
    for (std::size_t most = 3; most < 12; ++most) EXPECT_LE(columns(shorten_middle(wide, most)), most);
}

}  // namespace
}  // namespace dlaunch::agent
