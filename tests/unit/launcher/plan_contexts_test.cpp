#include <gtest/gtest.h>

#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

TEST(PlanContexts, EachHasItsWorkersAndItsPlaceInTheJob) {
    const auto contexts = planned({"-n", "1", "./ps", "x", ":", "--nproc-per-node=cpu", "./worker"}).plan->contexts;
    ASSERT_EQ(contexts.size(), 2U);
    EXPECT_EQ(contexts[0].workers, 1);
    EXPECT_EQ(contexts[0].appnum, 0);
    EXPECT_EQ(contexts[0].program.command, (Words{"./ps", "x"}));
    EXPECT_EQ(contexts[1].workers, 4);
    EXPECT_EQ(contexts[1].appnum, 1);
    EXPECT_EQ(contexts[1].program.command, Words{"./worker"});
}

TEST(PlanContexts, OptionsOfAContextAreItsOwnAndOthersTheJobs) {
    const agent::Plan plan = *planned({"--max-restarts=3", "--env=A=1", "--chdir=/d", "--wrap=0:nice", "--no-python",
                                       "ps.py", ":", "--env=A=2", "--role=w", "worker.py"})
                                  .plan;
    EXPECT_EQ(plan.restarts.max_restarts, 3);
    EXPECT_EQ(plan.contexts[0].program.environment, (agent::Variables{{"A", "1"}}));
    EXPECT_EQ(plan.contexts[0].program.working_directory, "/d");
    EXPECT_EQ(plan.contexts[0].program.wraps.size(), 1U);
    EXPECT_EQ(plan.contexts[1].program.environment, (agent::Variables{{"A", "2"}}));
    EXPECT_EQ(plan.contexts[1].program.working_directory, "");
    EXPECT_TRUE(plan.contexts[1].program.wraps.empty());
    EXPECT_EQ(plan.contexts[1].program.command, Words{"worker.py"});
}

TEST(PlanContexts, ARoleIsTheProgramsFileNameInAJobOfSeveral) {
    const auto roles = [](const Words& words) {
        Words found;
        const auto outcome = planned(words);
        for (const agent::Context& context : outcome.plan->contexts) found.push_back(context.program.role);
        return found;
    };
    EXPECT_EQ(roles({"/bin/ps", ":", "train.py", ":", "eval.sh", ":", "--role=x", "q"}),
              (Words{"ps", "train", "eval.sh", "x"}));
    EXPECT_EQ(roles({"-m", "pkg.ps", ":", "pkg.worker"}), (Words{"pkg.ps", "pkg.worker"}));
    EXPECT_EQ(roles({"--role=", "p", ":", "q"}), (Words{"", "q"}));
    EXPECT_EQ(roles({"./ps"}), Words{"default"});
    EXPECT_EQ(roles({"--appnum=1", "./ps"}), Words{"ps"}) << "the other contexts are other nodes'";
}

TEST(PlanContexts, ANodeMayLackSome) {
    const auto contexts = planned({"--appnum=1", "a", ":", "--appnum=4", "b", ":", "c"}).plan->contexts;
    EXPECT_EQ(contexts[0].appnum, 1);
    EXPECT_EQ(contexts[1].appnum, 4);
    EXPECT_EQ(contexts[2].appnum, 5);
    EXPECT_EQ(planned({"--appnum=1", "a", ":", "--appnum=1", "b"}).error(),
              "--appnum=1: expected a place from 2 to 1023");
    EXPECT_NE(planned({"--appnum=1024", "a"}).error(), "");
}

TEST(PlanContexts, AllWorkersOfTheNodeCount) {
    EXPECT_TRUE(planned({"-n", "32767", "a", ":", "-n", "1", "b"}).plan);
    EXPECT_EQ(planned({"-n", "32767", "a", ":", "-n", "2", "b"}).error(),
              "-n 2: expected at most 32768 workers, the limit of processes on this machine (kernel.pid_max)");
    EXPECT_TRUE(planned({"--stdin=3", "-n", "2", "a", ":", "-n", "2", "b"}).plan);
    EXPECT_EQ(planned({"--stdin=4", "-n", "2", "a", ":", "-n", "2", "b"}).error(),
              "--stdin=4: expected a rank below 4, the number of workers");
}

TEST(PlanContexts, RanksOfWrapAreGlobal) {
    EXPECT_TRUE(planned({"-n", "2", "a", ":", "-n", "2", "--wrap=2-3:strace", "b"}).warnings.empty());
    EXPECT_EQ(planned({"-n", "2", "a", ":", "-n", "2", "--wrap=0:strace", "b"}).warnings,
              Words{"--wrap: there is no rank 0 of this program to run under strace"});
    EXPECT_EQ(planned({"-n", "2", "--wrap=0,2:strace", "a", ":", "-n", "2", "b"}).warnings,
              Words{"--wrap: there is no rank 2 of this program to run under strace"});
}

TEST(PlanContexts, HaveNoTemplate) {
    EXPECT_EQ(planned({"--start-method=fork", "a", ":", "b"}).error(),
              "--start-method=fork: expected spawn with several programs, because a node has one template");
    EXPECT_TRUE(planned({"--start-method=fork", "a.py", ":", "b.py"}).plan) << "no effect on scripts";
}

TEST(PlanContexts, AListOfDevicesInTheEnvironmentOfAContextServesItsWorkers) {
    Deps machine = small_machine({{"CUDA_VISIBLE_DEVICES", "0,1"}});
    EXPECT_TRUE(planned({"--virtual-local-rank", "-n", "1", "a", ":", "-n", "1", "b"}, machine).plan);
    EXPECT_FALSE(planned({"--virtual-local-rank", "-n", "1", "a", ":", "-n", "2", "b"}, machine).plan);
    EXPECT_TRUE(planned({"--virtual-local-rank", "-n", "3", "--env=CUDA_VISIBLE_DEVICES=5,6,7", "a", ":", "-n", "3",
                         "--env=CUDA_VISIBLE_DEVICES=1,2,3", "b"},
                        machine)
                    .plan);
    EXPECT_FALSE(
        planned({"--virtual-local-rank", "-n", "3", "--env=CUDA_VISIBLE_DEVICES=5,6,7", "a", ":", "b"}, machine).plan)
        << "b is local rank 3, and the node has two";
}

}  // namespace
}  // namespace dlaunch::launcher
