#include "launcher/start/exported.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Lines = std::vector<std::string>;

const agent::Variables kHere{{"PATH", "/bin"},      {"MINE", "a=b\nc"},     {"SSH_TTY", "x"},
                             {"SLURM_JOB_ID", "7"}, {"HOSTNAME", "front"},  {"XDG_RUNTIME_DIR", "/r"},
                             {"RANK", "3"},         {"MASTER_ADDR", "old"}, {"EMPTY", ""}};

TEST(Exported, all_leaves_out_what_belongs_to_host_session_or_outer_job) {
    const Export sent = exported({}, kHere);
    EXPECT_EQ(sent.variables, (Lines{"PATH=/bin", "MINE=a=b\nc", "EMPTY="}));
    EXPECT_FALSE(sent.keeps_own);
}

TEST(Exported, none_keeps_the_environment_of_the_node) {
    const Export sent = exported({.all = false}, kHere);
    EXPECT_EQ(sent.variables, Lines{});
    EXPECT_TRUE(sent.keeps_own);
}

TEST(Exported, names_and_values_come_on_top) {
    const Export sent = exported({false, {"MINE", "UNSET"}, {{"SET", "a=b c"}}}, kHere);
    EXPECT_EQ(sent.variables, (Lines{"MINE=a=b\nc", "SET=a=b c"}));
    EXPECT_EQ(merged({"PATH=/node", "MINE=own"}, sent), (Lines{"PATH=/node", "MINE=a=b\nc", "SET=a=b c"}));
}

TEST(Exported, all_and_a_value_replaces_the_value) {
    EXPECT_EQ(exported({true, {}, {{"MINE", "new"}}}, kHere).variables, (Lines{"PATH=/bin", "MINE=new", "EMPTY="}));
}

TEST(Exported, a_node_keeps_what_belongs_to_it) {
    const Lines own{"PATH=/node", "HOSTNAME=n1", "SSH_CONNECTION=a b", "SLURM_JOB_ID=9"};
    EXPECT_EQ(merged(own, {{"PATH=/bin"}, false}),
              (Lines{"HOSTNAME=n1", "SSH_CONNECTION=a b", "SLURM_JOB_ID=9", "PATH=/bin"}));
}

}  // namespace
}  // namespace dlaunch::launcher
