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

TEST(Suggestion, OfNamesUsedByOtherLaunchers) {
    for (const char* typed : {"ppn", "ppn4", "ntasks_per_node"})
        EXPECT_EQ(suggestion(typed), "; did you mean --nproc-per-node?") << typed;
    EXPECT_EQ(suggestion("num_processes"), "; did you mean -n (workers of all nodes)?");
    EXPECT_EQ(suggestion("N2"), "; did you mean --nnodes?");
    EXPECT_EQ(suggestion("H"), "; did you mean --hosts?");
    EXPECT_EQ(suggestion("machinefile"), "; did you mean --hostfile?");
    EXPECT_EQ(suggestion("x"), "; did you mean --env NAME=VALUE?");
    EXPECT_EQ(suggestion("map_by"), "; workers are placed host by host; --hosts gives the order");
    EXPECT_EQ(suggestion("ppn", ""), "") << "no other launcher reads the file of --config";
    EXPECT_EQ(suggestion("4"), "");
}

TEST(Suggestion, OfVariables) {
    for (const char* typed : {"DLAUNCH_NPROC", "DLAUNCH_NPROC_PER_NODES", "DLAUNCH_NPORC_PER_NODE"})
        EXPECT_EQ(variable_suggestion(typed), "DLAUNCH_NPROC_PER_NODE") << typed;
    EXPECT_EQ(variable_suggestion("DLAUNCH_MAX_RESTART"), "DLAUNCH_MAX_RESTARTS");
    for (const char* other : {"DLAUNCH_NPROC_PER_NODE", "DLAUNCH_TOKEN", "DLAUNCH_TOKEN_FILE", "DLAUNCH_APPNUM",
                              "DLAUNCH_MASTER_HOST", "DLAUNCH_MY_OWN", "DLAUNCH_", "PET_NPROC", "NPROC"})
        EXPECT_EQ(variable_suggestion(other), "") << other;
}

TEST(Suggestion, OfCommands) {
    for (const char* typed : {"check", "chek", "hceck", "checks"})
        EXPECT_EQ(command_suggestion(typed), "; did you mean dlaunch check?") << typed;
    EXPECT_EQ(command_suggestion("stor"), "; did you mean dlaunch store?");
    EXPECT_EQ(command_suggestion("backend"), "; did you mean dlaunch backends?");
    EXPECT_EQ(command_suggestion("help"), "; did you mean dlaunch --help?");
    for (const char* typed : {"true", "python3", "prog", "./check.sh", ""}) EXPECT_EQ(command_suggestion(typed), "");
}

}  // namespace
}  // namespace dlaunch::launcher
