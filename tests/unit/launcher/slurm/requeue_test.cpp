#include "launcher/slurm/requeue.hpp"

#include <gtest/gtest.h>

#include "launcher/command_line.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

agent::RequeuePlan plan(const agent::Variables& variables) { return *requeue_commands({"vm", 4, variables}); }

TEST(SlurmRequeue, NamesTheJob) {
    EXPECT_EQ(plan({{"SLURM_JOB_ID", "71"}}).order, (Words{"scontrol", "requeue", "71"}));
    EXPECT_EQ(plan({{"SLURM_JOB_ID", "71"}}).question, (Words{"scontrol", "show", "job", "71"}));
}

TEST(SlurmRequeue, OneTaskOfAnArray) {
    EXPECT_EQ(plan({{"SLURM_JOB_ID", "75"}, {"SLURM_ARRAY_JOB_ID", "71"}, {"SLURM_ARRAY_TASK_ID", "3"}}).order,
              (Words{"scontrol", "requeue", "71_3"}));
}

TEST(SlurmRequeue, OneTaskOfAStepAsks) {
    EXPECT_FALSE(plan({{"SLURM_JOB_ID", "71"}, {"SLURM_PROCID", "0"}}).order.empty());
    EXPECT_TRUE(plan({{"SLURM_JOB_ID", "71"}, {"SLURM_PROCID", "1"}}).order.empty());
}

TEST(SlurmRequeue, TheOptionNeedsSlurm) {
    const auto read = [](const Words& words, const agent::Variables& variables) {
        return *read_command_line(words, small_machine(variables));
    };
    EXPECT_EQ(read({"dlaunch", "--requeue", "p"}, {{"SLURM_JOB_ID", "71"}}).plan.requeue.order,
              (Words{"scontrol", "requeue", "71"}));
    EXPECT_EQ(read({"dlaunch", "p"}, {{"SLURM_JOB_ID", "71"}}).plan.requeue.order, Words{});
    EXPECT_EQ(read({"dlaunch", "--requeue", "p"}, {}).warnings, Words{"--requeue: no effect, expected a job of SLURM"});
}

}  // namespace
}  // namespace dlaunch::launcher
