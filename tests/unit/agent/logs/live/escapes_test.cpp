#include "agent/logs/live/escapes.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Kind = EscapeParser::Kind;

/// "text", "{31}" for a colour, "<kind number>" for the rest.
std::string parsed(EscapeParser& parser, std::string_view bytes) {
    std::string all;
    EscapeParser::Piece piece{};
    while (parser.next(bytes, piece)) {
        if (piece.kind == Kind::text)
            all += piece.text;
        else if (piece.kind == Kind::colour)
            all += "{" + std::string(piece.text) + "}";
        else
            all += "<" + std::to_string(static_cast<int>(piece.kind)) + " " + std::to_string(piece.number) + ">";
    }
    return all;
}

std::string parsed(std::string_view bytes) {
    EscapeParser parser;
    return parsed(parser, bytes);
}

std::string of(Kind kind, int number = 0) {
    return "<" + std::to_string(static_cast<int>(kind)) + " " + std::to_string(number) + ">";
}

TEST(Escapes, KeepTextAndColours) {
    EXPECT_EQ(parsed("a\tb zu gro\xC3\x9F \xFF"), "a\tb zu gro\xC3\x9F \xFF");
    EXPECT_EQ(parsed("\x1b[1;31mred\x1b[m"), "{1;31}red{}");
}

TEST(Escapes, TellTheCursorsWaysWithinTheLine) {
    EXPECT_EQ(parsed("50%\r60%\b"), "50%" + of(Kind::carriage_return) + "60%" + of(Kind::backspace));
    EXPECT_EQ(parsed("\x1b[K\x1b[1K\x1b[2K"), of(Kind::erase_right) + of(Kind::erase_left) + of(Kind::erase_all));
    EXPECT_EQ(parsed("\x1b[5G\x1b[C\x1b[3D"), of(Kind::column, 4) + of(Kind::right, 1) + of(Kind::left, 3));
}

TEST(Escapes, TellTheCursorsWaysBetweenLines) {
    EXPECT_EQ(parsed("\x1b[A\x1b[3A\x1b[2B"), of(Kind::up, 1) + of(Kind::up, 3) + of(Kind::down, 2));
    EXPECT_EQ(parsed("\x1b[F\x1b[2E"), of(Kind::up_to_start, 1) + of(Kind::down_to_start, 2));
    EXPECT_EQ(parsed("\x1b[J\x1b[0J"), of(Kind::erase_below) + of(Kind::erase_below));
    EXPECT_EQ(parsed("\x1b[?25l\x1b[?25h"), of(Kind::hide_cursor) + of(Kind::show_cursor));
}

TEST(Escapes, DropWhatLeavesTheLineOrChangesTheTerminal) {
    for (const char* bytes :
         {"\x1b[2J", "\x1b[H", "\x1b[?25;7l", "\x1b[?1049h", "\x1b[1;5r",
          "\x1b"
          "c",
          "\x1b(0", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1bP1$r\x1b\\", "\a", "\x1b[6n", "\x1b[>4;2m",
          "\xC2\x9B"
          "2J",
          "\x9B", "\x7F",
          "\x1b"
          "7",
          "\x1b[!p", "\x0e"})
        EXPECT_EQ(parsed("a" + std::string(bytes) + "b").find_first_of("<{\x1b\x9B"), std::string::npos) << bytes;
    EXPECT_EQ(parsed("a\x1b]0;title\x07"
                     "b"),
              "ab");
    EXPECT_EQ(parsed("a\x1b[2Jb"), "ab");
}

TEST(Escapes, MayBeSplitAnywhere) {
    const std::string bytes =
        "a\x1b[1;31mb\x1b]0;t\x1b\\c\x1b[Kd\xE2\x96\x88"
        "e\xF0\x9F\x9A\x80";
    const std::string whole = parsed(bytes);
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
        EscapeParser parser;
        const std::string first = parsed(parser, bytes.substr(0, at));
        EXPECT_EQ(first + parsed(parser, bytes.substr(at)), whole) << at;
    }
}

TEST(Escapes, EndNoCharacterWithForeignBytes) {
    EscapeParser parser;
    EXPECT_EQ(parsed(parser, "a\xE2\x96"), "a");
    EXPECT_FALSE(parser.is_between());
    EXPECT_EQ(parsed(parser, "b"),
              "\xE2\x96"
              "b");
    EXPECT_EQ(parsed(parser, "\xC3"), "");
    EscapeParser::Piece piece{};
    ASSERT_TRUE(parser.take_partial(piece));
    EXPECT_EQ(piece.text, "\xC3");
    EXPECT_FALSE(parser.take_partial(piece));
}

TEST(Escapes, OfAnyLengthNeedLittleMemory) {
    EXPECT_EQ(parsed("\x1b[" + std::string(100'000, '1') + "mb"), "b");
    EXPECT_EQ(parsed("\x1b]" + std::string(100'000, 'x') +
                     "\x07"
                     "b"),
              "b");
}

TEST(IsSimple, HoldsForPrintableAsciiTabsAndLines) {
    EXPECT_TRUE(is_simple("a b\tc~\n"));
    for (const char* bytes : {"\r", "\x1b", "\x7F", "\xC3\x9F", "\x07"}) EXPECT_FALSE(is_simple(bytes));
}

}  // namespace
}  // namespace dlaunch::agent
