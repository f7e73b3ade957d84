#include "launcher/slurm/defaults.hpp"

#include <gtest/gtest.h>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/command_line.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

/// A task of step 71.2 with these tasks per node, on nodes n4, n5 ...
agent::Variables task(int node, int local_task, const std::string& tasks) {
    return {{"SLURM_JOB_ID", "71"},
            {"SLURM_JOB_NUM_NODES", "7"},
            {"SLURM_STEP_ID", "2"},
            {"SLURM_STEP_NODELIST", tasks.ends_with("(x2)") ? "n[4-5]" : "n4"},
            {"SLURM_STEP_TASKS_PER_NODE", tasks},
            {"SLURM_NODEID", std::to_string(node)},
            {"SLURM_LOCALID", std::to_string(local_task)},
            {"SLURM_PROCID", "9"}};
}

Invocation read(Words words, agent::Variables environment, const std::string& called = "dlaunch") {
    words.insert(words.begin(), called);
    words.emplace_back("./prog");
    return *read_command_line(words, small_machine(std::move(environment)));
}

TEST(SlurmDefaults, AStepNeedsNoOption) {
    const agent::Plan plan = read({}, task(1, 0, "1(x2)")).plan;
    EXPECT_EQ(plan.rendezvous.min_nodes, 2);
    EXPECT_EQ(plan.rendezvous.max_nodes, 2);
    EXPECT_EQ(plan.rendezvous.backend, agent::Backend::c10d);
    EXPECT_EQ(plan.rendezvous.endpoint, "n4:27173");
    EXPECT_EQ(plan.rendezvous.is_host, false);
    EXPECT_EQ(plan.rendezvous.job_id, "71.2");
    EXPECT_EQ(plan.rendezvous.order_key, "9") << "the order of tasks is SLURM's, also with --distribution=arbitrary";
    EXPECT_EQ(plan.rendezvous.expected_hosts, (Words{"n4", "n5"}));
    EXPECT_EQ(plan.host.name, "n5");
    EXPECT_EQ(plan.workers(), 1);
    EXPECT_EQ(plan.tasks.count, 1);
    EXPECT_EQ(read({}, task(0, 0, "1(x2)")).plan.rendezvous.is_host, true);
}

TEST(SlurmDefaults, AJobNeedsNoMoreNodesThanTheStepHasTasks) {
    const auto refusal = [](Words words) {
        words.insert(words.begin(), "dlaunch");
        words.emplace_back("./prog");
        const auto made = read_command_line(words, small_machine(task(0, 0, "2(x2)")));
        return made ? "" : made.error().text;
    };
    EXPECT_EQ(refusal({"--nnodes=5"}),
              "--nnodes=5: this step of srun has 4 tasks, and no others can join, expected at most 4");
    EXPECT_EQ(refusal({"--nnodes=4"}), "");
    EXPECT_EQ(refusal({"--nnodes=2:9"}), "");
    EXPECT_EQ(refusal({"--nnodes=5", "--rdzv-endpoint=n4:29400", "--rdzv-backend=c10d"}), "");
}

TEST(SlurmDefaults, TheStepsPortDependsOnTheStep) {
    auto other = task(1, 0, "1(x2)");
    other[2].second = "3";
    EXPECT_EQ(read({}, other).plan.rendezvous.endpoint, "n4:27174");
}

TEST(SlurmDefaults, TheFirstTaskOfANodeIsTheAgent) {
    const agent::Plan first = read({}, task(0, 0, "3(x2)")).plan, third = read({}, task(0, 2, "3(x2)")).plan;
    EXPECT_EQ(first.workers(), 3);
    EXPECT_EQ(first.tasks.count, 3);
    EXPECT_EQ(first.tasks.index, 0);
    EXPECT_EQ(third.tasks.index, 2);
    EXPECT_EQ(third.tasks.socket, first.tasks.socket);
    EXPECT_NE(read({}, task(1, 0, "3(x2)")).plan.tasks.socket, first.tasks.socket) << "nodes may share a kernel";
}

TEST(SlurmDefaults, AStepOnOneNodeIsAJobOfOneNode) {
    const agent::Plan plan = read({}, task(0, 0, "4")).plan;
    EXPECT_EQ(plan.rendezvous.max_nodes, 1);
    EXPECT_TRUE(plan.rendezvous.standalone);
    EXPECT_EQ(plan.rendezvous.job_id, "71.2");
    EXPECT_EQ(plan.workers(), 4);
}

TEST(SlurmDefaults, OptionsTakePrecedence) {
    const auto plan = [](const Words& words) { return read(words, task(1, 0, "2(x2)")).plan; };
    EXPECT_EQ(plan({"--nnodes=1:2"}).rendezvous.min_nodes, 1);
    EXPECT_EQ(plan({"--nnodes=1"}).rendezvous.max_nodes, 1);
    EXPECT_EQ(plan({"--nproc-per-node=3"}).workers(), 3);
    EXPECT_EQ(plan({"-n", "8"}).workers(), 4);
    EXPECT_EQ(plan({"--rdzv-id=mine"}).rendezvous.job_id, "mine");
    const auto elsewhere = plan({"--rdzv-backend=c10d", "--rdzv-endpoint=login:7"}).rendezvous;
    EXPECT_EQ(elsewhere.endpoint, "login:7");
    EXPECT_EQ(elsewhere.is_host, std::nullopt);
    EXPECT_EQ(plan({"--master-addr=login"}).rendezvous.master_addr, "login");
    EXPECT_EQ(plan({"--rdzv-conf=is_host=1"}).rendezvous.is_host, true);
}

TEST(SlurmDefaults, TheStaticBackendIsAtTheFirstNode) {
    const auto fixed = read({"--rdzv-backend=static"}, task(1, 0, "1(x2)")).plan.rendezvous;
    EXPECT_EQ(fixed.master_addr, "n4");
    EXPECT_EQ(fixed.master_port, 27173);
    const auto at_port = read({"--master-port=7000"}, task(1, 0, "1(x2)")).plan.rendezvous;
    EXPECT_EQ(at_port.backend, agent::Backend::fixed_address);
    EXPECT_EQ(at_port.master_addr, "n4");
    EXPECT_EQ(at_port.master_port, 7000);
}

TEST(SlurmDefaults, AJobOfMoreNodesThanTheStepTakesTasksForNodes) {
    const agent::Plan plan = read({"--nnodes=4"}, task(1, 1, "2(x2)")).plan;
    EXPECT_EQ(plan.rendezvous.max_nodes, 4);
    EXPECT_EQ(plan.tasks.count, 1);
    EXPECT_EQ(plan.workers(), 1);
}

TEST(SlurmDefaults, OtherJobsInAStepAreTheirOwn) {
    EXPECT_EQ(read({"--standalone"}, task(1, 1, "2(x2)")).plan.tasks.count, 1);
    EXPECT_EQ(read({"--no-python"}, task(1, 1, "2(x2)"), "/usr/bin/torchrun").plan.rendezvous.max_nodes, 1)
        << "as with torchrun";
    auto worker = task(1, 0, "2(x2)");
    worker.emplace_back("DLAUNCH_ROUND", "0");
    EXPECT_EQ(read({}, worker).plan.rendezvous.max_nodes, 1);
    EXPECT_EQ(read({}, worker).warnings, Words{});
}

TEST(SlurmDefaults, WrongVariablesAreAnError) {
    auto wrong = task(2, 0, "1(x2)");
    EXPECT_FALSE(read_command_line({"dlaunch", "./prog"}, small_machine(wrong)));
    EXPECT_TRUE(read_command_line({"dlaunch", "--standalone", "./prog"}, small_machine(wrong)));
}

TEST(SlurmDefaults, OnlyTheFirstTaskPrints) {
    EXPECT_NE(read({"--dry-run"}, task(0, 0, "5(x2)")).output, "");
    EXPECT_EQ(read({"--dry-run"}, task(0, 1, "5(x2)")).output, "");
    EXPECT_EQ(read({}, task(0, 0, "5(x2)")).warnings.size(), 1U) << "5 workers, 4 cores";
    EXPECT_EQ(read({}, task(0, 1, "5(x2)")).warnings, Words{});
}

TEST(SlurmDefaults, AnUnusedAllocationIsMentioned) {
    const agent::Variables batch{{"SLURM_JOB_ID", "71"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_PROCID", "0"}};
    EXPECT_EQ(read({}, batch).warnings,
              Words{"SLURM has allocated 3 nodes and this job uses one; srun dlaunch ... uses all of them, --nnodes=1 "
                    "omits this line"});
    EXPECT_EQ(
        read({}, {{"SLURM_JOB_ID", "71"}, {"SLURM_JOB_NUM_NODES", "1"}, {"SLURM_HET_SIZE", "2"}}).warnings,
        Words{"SLURM's job has 2 components and this job uses one node; srun --het-group=0-1 dlaunch ... uses all "
              "of them, --nnodes=1 omits this line"});
    for (const char* option : {"--nnodes=1", "--standalone", "--rdzv-endpoint=n1:7", "--master-addr=n1"})
        EXPECT_EQ(read({option}, batch).warnings, Words{}) << option;
    EXPECT_EQ(read({}, {{"SLURM_JOB_ID", "71"}, {"SLURM_JOB_NUM_NODES", "1"}}).warnings, Words{});
    EXPECT_EQ(read({}, {{"SLURM_JOB_NUM_NODES", "3"}}).warnings, Words{});
    EXPECT_EQ(read({}, task(0, 0, "1")).warnings, Words{}) << "a step";
}

TEST(SlurmDefaults, ANarrowAffinityMaskIsMentioned) {
    EXPECT_EQ(read({"--nproc-per-node=5"}, {{"SLURM_JOB_ID", "71"}}).warnings,
              Words{"5 workers share 4 usable cores of this node; srun --cpus-per-task or --cpu-bind=none gives more"});
    EXPECT_EQ(read({"--nproc-per-node=4"}, {{"SLURM_JOB_ID", "71"}}).warnings, Words{});
    EXPECT_EQ(read({"--nproc-per-node=5"}, {}).warnings, Words{}) << "only SLURM's masks are narrow unnoticed";
}

TEST(SlurmDefaults, TheAgentUsesTheCoresOfAllTasks) {
    auto bound = task(0, 0, "2(x2)");
    bound.emplace_back("SLURM_CPU_BIND_TYPE", "mask_cpu:");
    bound.emplace_back("SLURM_CPU_BIND_LIST", "0x1,0x4");
    Deps machine = small_machine(bound);
    std::vector<int> used;
    machine.host.usable_cores = 1;
    machine.use_cores = [&](const std::vector<int>& cores) { return static_cast<int>((used = cores).size()); };
    const auto invocation = read_command_line({"dlaunch", "./prog"}, machine);
    EXPECT_EQ(used, (std::vector{0, 2}));
    EXPECT_EQ(invocation->plan.host.usable_cores, 2);
    EXPECT_EQ(invocation->warnings, Words{});
}

TEST(SlurmDefaults, GpusThatAreBoundToOneTaskAreMentioned) {
    const auto warnings = [](const std::string& tasks, int local_task, const char* all, const char* own) {
        agent::Variables step = task(0, local_task, tasks);
        step.emplace_back("SLURM_GPUS_ON_NODE", all);
        step.emplace_back("SLURM_STEP_GPUS", own);
        return read({}, step).warnings;
    };
    EXPECT_EQ(warnings("2(x2)", 0, "4", "0,1"),
              Words{"the workers of this node share 2 of its 4 GPUs: srun has bound them to the first of 2 tasks; "
                    "--gpus-per-node=4 in place of --gpus-per-task, and no --gpu-bind, gives all"});
    EXPECT_EQ(warnings("2(x2)", 1, "4", "0,1"), Words{}) << "the agent's task prints";
    EXPECT_EQ(warnings("2(x2)", 0, "4", "0,1,2,3"), Words{});
    EXPECT_EQ(warnings("2(x2)", 0, "4", "0-3"), Words{});
    EXPECT_EQ(warnings("1(x2)", 0, "4", "0"), Words{}) << "the task's own";
}

TEST(SlurmDefaults, GpusOfTheNode) {
    const auto workers = [](agent::Variables environment, const char* count = "--nproc-per-node=gpu") {
        return read({count}, std::move(environment)).plan.workers();
    };
    EXPECT_EQ(workers({{"SLURM_JOB_ID", "71"}, {"SLURM_GPUS_ON_NODE", "3"}, {"CUDA_VISIBLE_DEVICES", "0"}}), 3);
    EXPECT_EQ(workers({{"SLURM_JOB_ID", "71"}, {"CUDA_VISIBLE_DEVICES", "0, 2,"}}), 2);
    EXPECT_EQ(workers({{"SLURM_JOB_ID", "71"}, {"SLURM_GPUS_ON_NODE", "3"}}, "--nproc-per-node=auto"), 3);
    EXPECT_EQ(workers({{"SLURM_JOB_ID", "71"}}, "--nproc-per-node=auto"), 4) << "no GPUs, 4 cores";
    const auto outside = read_command_line({"dlaunch", "--nproc-per-node=gpu", "./prog"},
                                           small_machine({{"CUDA_VISIBLE_DEVICES", "0"}}));
    EXPECT_FALSE(outside) << "the driver decides outside of SLURM";
}

TEST(SlurmDefaults, ComponentsThatAFrontEndDoesNotSeeAreNamed) {
    const auto line = [](const Words& options, agent::Variables environment) {
        const auto settings = parse(normalize(options)->options);
        return unused_components(small_machine(std::move(environment)).host, *settings).value_or("none");
    };
    const agent::Variables job{{"SLURM_JOB_ID", "71"}, {"SLURM_JOB_NODELIST", "n1"}, {"SLURM_HET_SIZE", "2"}};
    EXPECT_EQ(
        line({"--launcher=srun", "p"}, job),
        "SLURM's job has 2 components and --launcher=srun uses the nodes of one; srun --het-group=0-1 dlaunch ... "
        "uses all of them");
    EXPECT_EQ(line({"--launcher=srun", "--hosts=n1", "p"}, job), "none");
    EXPECT_EQ(line({"--launcher=ssh", "p"}, job), "none");
    EXPECT_EQ(line({"--launcher=srun", "p"}, {job[0], job[1]}), "none");
}

}  // namespace
}  // namespace dlaunch::launcher
