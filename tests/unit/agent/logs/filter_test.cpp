#include "agent/logs/filter.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(LineFilter, copies_lines_that_contain_a_word) {
    const std::vector<std::string> words{"apple", "range"};
    LineFilter filter(words, "[default0]:");
    EXPECT_EQ(filter.add("an apple\npear\norange\n", ""), "[default0]:an apple\n[default0]:orange\n");
    EXPECT_EQ(filter.add("pear\n\n", ""), "");
}

TEST(LineFilter, finds_a_word_that_arrives_in_pieces) {
    const std::vector<std::string> words{"apple"};
    LineFilter filter(words, "");
    EXPECT_EQ(filter.add("an ap", ""), "");
    EXPECT_EQ(filter.add("pl", ""), "");
    EXPECT_EQ(filter.add("e\nan app\nle\n", ""), "an apple\n");
}

TEST(LineFilter, the_last_line_needs_no_newline) {
    const std::vector<std::string> words{"apple"};
    LineFilter filter(words, ":");
    EXPECT_EQ(filter.add("apple", "T "), "");
    EXPECT_EQ(filter.finish("T "), "T :apple\n");
    EXPECT_EQ(filter.finish("T "), "");
}

TEST(LineFilter, stamps_lines) {
    const std::vector<std::string> words{"a"};
    LineFilter filter(words, "p:");
    EXPECT_EQ(filter.add("a\nb\n", "12:00 "), "12:00 p:a\n");
}

TEST(LineFilter, an_endless_line_is_bounded) {
    const std::vector<std::string> words{"end", "start"};
    LineFilter filter(words, "");
    EXPECT_EQ(filter.add("start", ""), "");
    const std::string piece(1 << 18, 'x');
    for (int i = 0; i < 40; ++i) EXPECT_EQ(filter.add(piece, ""), "");
    EXPECT_EQ(filter.add("end\n", "").size(), (1u << 20) + 1);
}

}  // namespace
}  // namespace dlaunch::agent
