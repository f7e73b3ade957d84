#include "launcher/dry_run.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/command_line.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Json = nlohmann::json;

Json plan_of(std::vector<std::string> words, const Deps& machine = small_machine()) {
    words.insert(words.begin(), {"dlaunch", "--dry-run"});
    auto invocation = read_command_line(words, machine);
    return invocation ? Json::parse(invocation->output) : Json(invocation.error().text);
}

TEST(DryRun, PrintsTheCommandOfEachRank) {
    Json plan =
        plan_of({"--nproc-per-node=2", "--wrap=1:gdb --args", "--pass-local-rank", "./p", "odd name", "${local_rank}"});
    ASSERT_EQ(plan["workers"].size(), 2U);
    EXPECT_EQ(plan["workers"][0]["command"], Json({"./p", "--local-rank=0", "odd name", "0"}));
    EXPECT_EQ(plan["workers"][1]["command"], Json({"gdb", "--args", "./p", "--local-rank=1", "odd name", "1"}));
    EXPECT_EQ(plan["workers"][1]["rank"], 1);
}

TEST(DryRun, PrintsTheEnvironmentOfEachRank) {
    Json seen = plan_of({"--nproc-per-node=2", "--env=A=b", "--max-restarts=4", "p"})["workers"][1]["environment"];
    EXPECT_EQ(seen["RANK"], "1");
    EXPECT_EQ(seen["WORLD_SIZE"], "2");
    EXPECT_EQ(seen["A"], "b");
    EXPECT_EQ(seen["TORCHELASTIC_MAX_RESTARTS"], "4");
    EXPECT_EQ(seen["OMP_NUM_THREADS"], "2");
    EXPECT_EQ(seen["MASTER_PORT"], "(chosen at start)");
    EXPECT_EQ(plan_of({"--master-port=77", "p"})["workers"][0]["environment"]["MASTER_PORT"], "77");
}

TEST(DryRun, PrintsTheContexts) {
    Json plan = plan_of({"-n", "1", "--chdir=/d", "./ps", ":", "-n", "2", "./worker"});
    EXPECT_EQ(plan["contexts"],
              Json({{{"appnum", 0}, {"workers", 1}, {"role", "ps"}, {"working_directory", "/d"}},
                    {{"appnum", 1}, {"workers", 2}, {"role", "worker"}, {"working_directory", "."}}}));
    EXPECT_EQ(plan["workers_per_node"], 3);
    EXPECT_EQ(plan["workers"][2]["command"], Json({"./worker"}));
    Json seen = plan["workers"][2]["environment"];
    EXPECT_EQ(seen["RANK"], "2");
    EXPECT_EQ(seen["ROLE_RANK"], "1");
    EXPECT_EQ(seen["ROLE_WORLD_SIZE"], "2");
}

TEST(DryRun, PrintsThePathsOfFiles) {
    Json files = plan_of({"--log-dir=/l", "-r", "0:1", "-t", "1:2", "--nproc-per-node=2", "--rdzv-id=j/b", "p"});
    EXPECT_EQ(files["workers"][0]["files"],
              Json({{"error", "/l/j_b_*/attempt_0/0/error.json"}, {"stdout", "/l/j_b_*/attempt_0/0/stdout.log"}}));
    EXPECT_EQ(files["workers"][1]["files"],
              Json({{"error", "/l/j_b_*/attempt_0/1/error.json"}, {"stderr", "/l/j_b_*/attempt_0/1/stderr.log"}}));
    EXPECT_EQ(files["logs"]["directory"], "/l/j_b_*");
    EXPECT_TRUE(
        plan_of({"p"}, small_machine({{"TMPDIR", "/t"}}))["logs"]["directory"].get<std::string>().starts_with("/t/"));
}

TEST(DryRun, PrintsStopAndRestartOptions) {
    Json plan =
        plan_of({"--grace=1.5", "--timeout=9", "--stop-signal=INT", "--max-restarts=4", "--nproc-per-node=2", "p"});
    EXPECT_EQ(plan["stopping"]["grace_seconds"], 1.5);
    EXPECT_EQ(plan["stopping"]["timeout_seconds"], 9.0);
    EXPECT_EQ(plan["stopping"]["stop_signal"], "SIGINT");
    EXPECT_EQ(plan["restarts"]["max_restarts"], 4);
    EXPECT_EQ(plan["stdin"], "none");
    EXPECT_EQ(plan_of({"p"})["stdin"], "all");
    EXPECT_EQ(plan_of({"--stdin=0", "p"})["stdin"], "rank 0");
    EXPECT_EQ(plan_of({"--mpi=pmi1", "-n", "2", "p"})["stdin"], "rank 0");
    EXPECT_EQ(plan_of({"--mpi=pmi1", "-n", "2", "--stdin=none", "p"})["stdin"], "none");
    EXPECT_EQ(plan_of({"--timeout=0", "p"})["stopping"]["timeout_seconds"], Json());
}

TEST(DryRun, PrintsTheProcessorsOfWorkers) {
    EXPECT_EQ(plan_of({"p"})["workers"][0]["processors"], "any");
    Json workers = plan_of({"--bind=cores", "--nproc-per-node=2", "p"})["workers"];
    EXPECT_EQ(workers[0]["processors"], "0");
    EXPECT_EQ(workers[1]["processors"], "1");
}

TEST(DryRun, ARequestedBindingNeedsATopology) {
    Deps machine = small_machine();
    machine.topology = [](const auto&) { return base::Result<agent::Topology>(base::Error{"libhwloc is missing"}); };
    EXPECT_EQ(plan_of({"--bind=cores", "p"}, machine), "libhwloc is missing");
    EXPECT_TRUE(plan_of({"p"}, machine).is_object());
}

TEST(DryRun, ArgumentsThatAreNoTextStopNothing) {
    EXPECT_EQ(plan_of({"p", "\xff\xfe"})["workers"][0]["command"][0], "p");
}

}  // namespace
}  // namespace dlaunch::launcher
