#include "launcher/slurm.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Names = std::vector<std::string>;

TEST(Slurm, node_lists_are_written_out) {
    EXPECT_EQ(*expand_node_list("node1"), Names{"node1"});
    EXPECT_EQ(*expand_node_list("node[01-03,7],login"), (Names{"node01", "node02", "node03", "node7", "login"}));
    EXPECT_EQ(*expand_node_list("a[9-11]-ib"), (Names{"a9-ib", "a10-ib", "a11-ib"}));
    EXPECT_EQ(*expand_node_list("r[1-2]n[1,3]"), (Names{"r1n1", "r1n3", "r2n1", "r2n3"}));
    EXPECT_EQ(*expand_node_list("b,a"), (Names{"b", "a"})) << "in its own order";
}

TEST(Slurm, an_invalid_node_list_is_refused) {
    for (const char* text :
         {"", ",", "a,", "a[", "a[]", "a[1-", "a[2-1]", "a[x]", "a[0-99999999]", "a[1-70000]", "a[1-999]b[1-999]"})
        EXPECT_FALSE(expand_node_list(text)) << text;
}

TEST(Slurm, TheLimitHoldsBeforeRangesAreExpanded) {
    std::string list = "n[0-65535";
    for (int i = 0; i < 1000; ++i) list += ",0-65535";
    EXPECT_FALSE(expand_node_list(list + "]"));
}

TEST(Slurm, ANameHasTheLengthOfAHostName) {
    EXPECT_TRUE(expand_node_list(std::string(255, 'n')));
    EXPECT_TRUE(expand_node_list(std::string(254, 'n') + "[0-9]"));
    EXPECT_FALSE(expand_node_list(std::string(254, 'n') + "[0-10]"));
    EXPECT_FALSE(expand_node_list(std::string(255, 'n') + "[0-9]"));
    std::string list = "n[0-999]";
    for (int i = 0; i < 255; ++i) list += "[1]";
    EXPECT_FALSE(expand_node_list(list));
    const auto refused = expand_node_list(std::string(4000, 'n') + "[0-65535]");
    ASSERT_FALSE(refused);
    EXPECT_LT(refused.error().text.size(), 400U);
    EXPECT_NE(refused.error().text.find("at most 255 bytes"), std::string::npos) << refused.error().text;
}

}  // namespace
}  // namespace dlaunch::launcher
