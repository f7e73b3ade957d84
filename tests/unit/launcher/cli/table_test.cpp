#include "launcher/cli/table.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch::launcher {
namespace {

TEST(Table, NamesAndLettersAreUnique) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option& option : all_options()) {
        EXPECT_TRUE(names.insert(option.name).second) << option.name;
        EXPECT_TRUE(!option.letter || letters.insert(option.letter).second) << option.letter;
        EXPECT_EQ(option.name, with_dashes(option.name)) << "dashes only: underscores are a spelling";
        EXPECT_FALSE(option.help.empty()) << option.name;
        EXPECT_FALSE(option.help.ends_with('.')) << option.name;
    }
}

TEST(Table, GroupsAreTogether) {
    std::set<Group> closed;
    const Option* before = nullptr;
    for (const Option& option : all_options()) {
        if (before && before->group != option.group) closed.insert(before->group);
        EXPECT_FALSE(closed.contains(option.group)) << option.name;
        EXPECT_FALSE(title(option.group).empty());
        before = &option;
    }
}

TEST(Table, HasAllOfTorchruns) {
    for (const char* name : {"nnodes",
                             "nproc_per_node",
                             "rdzv_backend",
                             "rdzv_endpoint",
                             "rdzv_id",
                             "rdzv_conf",
                             "standalone",
                             "max_restarts",
                             "monitor_interval",
                             "start_method",
                             "event_log_handler",
                             "role",
                             "module",
                             "no_python",
                             "run_path",
                             "log_dir",
                             "redirects",
                             "tee",
                             "local_ranks_filter",
                             "duplicate_stdout_filters",
                             "duplicate_stderr_filters",
                             "node_rank",
                             "master_addr",
                             "master_port",
                             "local_addr",
                             "logs_specs",
                             "numa_binding",
                             "signals_to_handle",
                             "shutdown_timeout",
                             "virtual_local_rank",
                             "log_line_prefix_template",
                             "print_completion"}) {
        const Option* option = find_option(name);
        ASSERT_TRUE(option) << name;
        EXPECT_TRUE(option->torchrun) << name;
    }
}

TEST(Table, FindsByEverySpelling) {
    EXPECT_EQ(find_option("nproc-per-node"), find_option("nproc_per_node"));
    EXPECT_EQ(find_option('r'), find_option("redirects"));
    EXPECT_EQ(find_option("nproc"), nullptr);
    EXPECT_EQ(find_option('z'), nullptr);
    EXPECT_EQ(find_option('\0'), nullptr);
}

TEST(Table, HiddenOptionsAreFoundByTheirWholeNameOnly) {
    ASSERT_TRUE(find_option("appnum"));
    for (const Option& option : all_options()) EXPECT_TRUE(option.name != "appnum" && option.name != "devices");
    EXPECT_TRUE(find_option("appnum")->variables().empty());
}

TEST(Table, FindsByVariable) {
    EXPECT_EQ(find_variable("DLAUNCH_NPROC_PER_NODE"), find_option("nproc-per-node"));
    EXPECT_EQ(find_variable("PET_NPROC_PER_NODE"), find_option("nproc-per-node"));
    EXPECT_EQ(find_variable("TORCH_ELASTIC_SHUTDOWN_TIMEOUT"), find_option("shutdown-timeout"));
    EXPECT_EQ(find_variable("PET_CRASH_LOOP"), nullptr) << "torchrun has no such option";
    EXPECT_EQ(find_variable("PET_LOGS_SPECS"), nullptr) << "torchrun reads no variable for it";
    EXPECT_EQ(find_variable("DLAUNCH_VERSION"), nullptr) << "images carry such names for other reasons";
    EXPECT_EQ(find_variable("NPROC_PER_NODE"), nullptr);
    EXPECT_EQ(find_variable(""), nullptr);
}

TEST(Table, EveryVariableLeadsBackToItsOption) {
    for (const Option& option : all_options())
        for (const std::string& name : option.variables()) EXPECT_EQ(find_variable(name), &option) << name;
}

TEST(Table, NoOptionReadsAVariableOfWorkers) {
    for (const char* name : {"DLAUNCH_JOB_ID", "DLAUNCH_ROUND", "DLAUNCH_AGENT_SOCKET", "DLAUNCH_RESTART_REASON",
                             "DLAUNCH_NODE_ID", "DLAUNCH_BACKEND", "DLAUNCH_APPNUM", "DLAUNCH_MASTER_HOST"})
        EXPECT_EQ(find_variable(name), nullptr) << "a dlaunch inside a worker would take it for an option: " << name;
}

TEST(Table, ChoicesAreTheWordsOfTheValue) {
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(find_option("nproc-per-node")->choices(), (Names{"auto", "cpu", "gpu", "xpu", "hpu", "npu"}));
    EXPECT_EQ(find_option("tee")->choices(), (Names{"0", "1", "2", "3"}));
    EXPECT_EQ(find_option("log-dir")->choices(), Names{});
    EXPECT_EQ(find_option("standalone")->choices(), Names{});
}

}  // namespace
}  // namespace dlaunch::launcher
