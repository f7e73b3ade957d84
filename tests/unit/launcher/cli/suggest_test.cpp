#include "launcher/cli/suggest.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

TEST(EditDistance, CountsSlips) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("standalnoe", "standalone"), 1U) << "a swap is one slip";
    EXPECT_EQ(edit_distance("nproc-per-mode", "nproc-per-node"), 1U);
    EXPECT_EQ(edit_distance("mastr-port", "master-port"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, OfWholeNamesAndBeginnings) {
    const std::vector<std::string_view> names{"nnodes", "nproc-per-node", "node-rank", "max-restarts"};
    EXPECT_EQ(nearest("nnode5", names), "nnodes");
    EXPECT_EQ(nearest("max-restrats", names), "max-restarts");
    EXPECT_EQ(nearest("nporc", names), "nproc-per-node");
    EXPECT_EQ(nearest("xyzzy", names), "");
    EXPECT_EQ(nearest("", names), "");
    EXPECT_EQ(nearest(std::string(100'000, 'n'), names), "");
}

TEST(Suggestion, FromTheTable) {
    EXPECT_EQ(suggestion("rdvz_backend"), "; did you mean --rdzv-backend?");
    EXPECT_EQ(suggestion("rolle", ""), "; did you mean role?");
    EXPECT_EQ(suggestion("xyzzy"), "");
}

}  // namespace
}  // namespace dlaunch::launcher
