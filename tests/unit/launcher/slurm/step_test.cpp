#include "launcher/slurm/step.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch::launcher {
namespace {

using Names = std::vector<std::string>;

/// A step of tasks 2, 2, 1 on three nodes, seen by the second task of node n5, with some variables replaced.
agent::Host task(const agent::Variables& changes = {}) {
    agent::Host host{"vm",
                     4,
                     {{"SLURM_JOB_ID", "71"},
                      {"SLURM_JOB_NODELIST", "n[3-9]"},
                      {"SLURM_TASKS_PER_NODE", "4(x7)"},
                      {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
                      {"SLURM_STEP_ID", "2"},
                      {"SLURM_STEP_NODELIST", "n[4-6]"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_LOCALID", "1"}}};
    for (const auto& [name, value] : changes) {
        std::erase_if(host.environment, [&wanted = name](const auto& variable) { return variable.first == wanted; });
        if (!value.empty()) host.environment.emplace_back(name, value);
    }
    return host;
}

std::string error_of(const agent::Variables& changes) {
    const auto step = slurm_step(task(changes));
    return step ? "" : step.error().text;
}

TEST(SlurmStep, ATaskKnowsItsPlace) {
    const SlurmStep step = **slurm_step(task());
    EXPECT_EQ(step.name(), "71.2");
    EXPECT_EQ(step.hosts, (Names{"n4", "n5", "n6"}));
    EXPECT_EQ(step.host(), "n5");
    EXPECT_EQ(step.tasks, (std::vector{2, 2, 1}));
    EXPECT_EQ(step.tasks_here(), 2);
    EXPECT_EQ(step.node, 1);
    EXPECT_EQ(step.local_task, 1);
}

TEST(SlurmStep, ANodeOfAHeterogeneousJobKnowsItsName) {
    const SlurmStep step =
        **slurm_step(task({{"SLURMD_NODENAME", "n6"}, {"SLURM_NODEID", "0"}, {"SLURM_LOCALID", "0"}}));
    EXPECT_EQ(step.host(), "n6");
    EXPECT_EQ(step.tasks_here(), 1);
    EXPECT_EQ((**slurm_step(task({{"SLURMD_NODENAME", "elsewhere"}}))).host(), "n5");
}

TEST(SlurmStep, OutsideOfAStepThereIsNone) {
    EXPECT_FALSE(*slurm_step(task({{"SLURM_STEP_ID", ""}}))) << "a batch script";
    EXPECT_FALSE(*slurm_step(task({{"SLURM_STEP_ID", "4294967291"}}))) << "the batch step by number";
    EXPECT_FALSE(*slurm_step(task({{"SLURM_STEP_ID", "4294967290"}}))) << "the shell of salloc";
    EXPECT_FALSE(*slurm_step(task({{"SLURM_JOB_ID", ""}})));
    EXPECT_FALSE(*slurm_step({"vm", 4, {}}));
}

TEST(SlurmStep, AWrongViewOfTheStepIsAnError) {
    EXPECT_EQ(error_of({{"SLURM_NODEID", "3"}}),
              "SLURM_NODEID=3, expected a number below 3, the number of nodes in a step of SLURM, or --standalone");
    EXPECT_EQ(error_of({{"SLURM_NODEID", ""}}),
              "SLURM_NODEID is not set, expected a number below 3, the number of nodes in a step of SLURM, or "
              "--standalone");
    EXPECT_TRUE(error_of({{"SLURM_LOCALID", "2"}}).starts_with("SLURM_LOCALID=2, expected a number below 2"));
    EXPECT_TRUE(error_of({{"SLURM_STEP_TASKS_PER_NODE", ""}}).starts_with("SLURM_STEP_TASKS_PER_NODE is not set, "))
        << "the job's value, which is set, may be of other nodes";
    EXPECT_TRUE(error_of({{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}})
                    .starts_with("SLURM_STEP_TASKS_PER_NODE=2(x2), expected numbers of tasks such as 2(x3),1 for each "
                                 "of 3 nodes"));
    EXPECT_TRUE(error_of({{"SLURM_STEP_NODELIST", "n["}}).starts_with("SLURM_STEP_NODELIST: "));
    EXPECT_TRUE(error_of({{"SLURM_STEP_NODELIST", ""}}).starts_with("SLURM_STEP_NODELIST is not set, "));
    EXPECT_TRUE(error_of({{"SLURM_JOB_ID", "x"}}).starts_with("SLURM_JOB_ID=x, expected a number"));
    EXPECT_TRUE(error_of({{"SLURM_STEP_ID", "-1"}}).starts_with("SLURM_STEP_ID=-1, expected a number"));
}

TEST(SlurmStep, TasksPerNode) {
    EXPECT_EQ(parse_tasks_per_node("4"), std::vector{4});
    EXPECT_EQ(parse_tasks_per_node("2(x3),1"), (std::vector{2, 2, 2, 1}));
    EXPECT_EQ(parse_tasks_per_node("1,3(x2),1"), (std::vector{1, 3, 3, 1}));
    EXPECT_EQ(parse_tasks_per_node("1(x65536)")->size(), 65'536U);
    for (const char* text : {"", ",", "0", "x", "2(x", "2(x)", "2(x0)", "2(3)", "(x2)", "2(x3", "2(x3)4", "-1",
                             "1(x65537)", "1(x65536),1", "1(x99999999999999999999)"})
        EXPECT_FALSE(parse_tasks_per_node(text)) << text;
}

TEST(SlurmStep, StepsThatMayRunTogetherHavePortsOfTheirOwn) {
    std::set<int> ports;
    for (int job = 1'000; job < 1'080; ++job)
        for (int step = 0; step < 100; ++step)
            ports.insert(SlurmStep{.job_id = std::to_string(job), .step_id = std::to_string(step)}.port());
    EXPECT_EQ(ports.size(), 8'000U);
    EXPECT_GE(*ports.begin(), 20'000);
    EXPECT_LT(*ports.rbegin(), 29'000) << "29400 and 29500 are torchrun's";
    EXPECT_GT((SlurmStep{.job_id = "4294967295", .step_id = "4294967295"}.port()), 0);
}

}  // namespace
}  // namespace dlaunch::launcher
