#include "launcher/start/make_front_plan.hpp"

#include <gtest/gtest.h>

#include <map>

#include "launcher/cli/parse.hpp"
#include "launcher/cli/sources.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

struct Made {
    bool starts = false;
    base::Result<FrontPlan> plan;
    Words warnings = {};
};

/// Plans "prog" with these options, files and variables.
Made made(const Words& options, const Files& files = {}, const Environment& environment = {}) {
    Deps machine = small_machine(environment);
    machine.current_folder = [] { return std::string("/home/you"); };
    machine.read_file = [&files](const std::string& path) {
        const auto found = files.find(path);
        return found == files.end() ? base::Result<std::string>(base::Error{"No such file or directory"})
                                    : base::text_result(found->second);
    };
    Sources sources;
    sources.command_line = normalize(options)->options;
    read_variables(environment, sources);
    const auto uses = strongest(sources);
    const auto settings = parse(uses);
    if (!settings) return {false, settings.error()};
    const std::vector<ContextRequest> job{{*settings, {"prog"}, uses}};
    Words warnings;
    auto plan = make_front_plan(job, machine, warnings);
    return {starts_nodes(job), std::move(plan), std::move(warnings)};
}

/// "a=2 w1=2:0,3 | c=1": each host's workers, and its devices if they are chosen; then the spares.
std::string text_of(const Made& result) {
    if (!result.plan) return result.plan.error().text;
    const auto nodes = static_cast<std::size_t>(result.plan->job.rendezvous.max_nodes);
    std::string text;
    for (std::size_t at = 0; at < result.plan->nodes.size(); ++at) {
        const FrontNode& node = result.plan->nodes[at];
        text += at == 0 ? "" : at == nodes ? " | " : " ";
        text += node.host.name + "=" + std::to_string(node.workers);
        for (const std::string& word : node.words)
            if (const std::string visible = "--devices="; word.starts_with(visible))
                text += ":" + word.substr(visible.size());
    }
    return text;
}

std::string shown(const Words& options, const Files& files = {}, const Environment& environment = {}) {
    return text_of(made(options, files, environment));
}

TEST(FrontPlanHosts, ListsAndFiles) {
    EXPECT_EQ(shown({"--hosts=node10:2,node9,node[1-2]:3"}), "node10=2 node9=1 node1=3 node2=3");
    EXPECT_EQ(shown({"--hostfile=h"}, {{"h", "a slots=2\nb:1\n"}}), "a=2 b=1");
    EXPECT_EQ(shown({"--hostfile=h"}, {{"h", "a slots=2\nb slots=x\n"}}),
              "h:2: slots=x, expected slots=N with N from 1 to 65536 after the host, or nothing");
    EXPECT_EQ(shown({"--hostfile=none"}),
              "--hostfile=none: cannot be read (No such file or directory), expected a file with a host on each line");
    EXPECT_EQ(shown({"--hosts=a,b", "--hostfile=h"}),
              "--hosts=a,b and --hostfile=h contradict each other, expected one of them");
}

TEST(FrontPlanHosts, WcollCountsForALauncherOnTheCommandLine) {
    const Files files{{"w", "# one a line\nn[1-2]\nm\n"}};
    EXPECT_EQ(shown({"--launcher=pdsh"}, files, {{"WCOLL", "w"}}), "n1=1 n2=1 m=1");
    EXPECT_EQ(shown({"--launcher=pdsh", "--hosts=a"}, files, {{"WCOLL", "w"}}), "a=1");
    EXPECT_FALSE(made({}, files, {{"WCOLL", "w"}}).starts);
    EXPECT_FALSE(made({}, files, {{"WCOLL", "w"}, {"DLAUNCH_LAUNCHER", "pdsh"}}).starts)
        << "a default for all jobs starts no job elsewhere";
    EXPECT_TRUE(made({"--hosts=a"}, {}, {{"DLAUNCH_LAUNCHER", "pdsh"}}).starts);
}

TEST(FrontPlanHosts, SrunHasTheHostsOfItsAllocation) {
    EXPECT_EQ(shown({"--launcher=srun"}, {}, {{"SLURM_JOB_NODELIST", "n[08-09],m"}}), "n08=1 n09=1 m=1");
    EXPECT_NE(shown({"--launcher=srun"}).find("no allocation"), std::string::npos);
    for (const char* other : {"--launcher=ssh", "--launcher=pdsh", "--launcher=fork"})
        EXPECT_EQ(shown({other, "--no-token"}, {}, {{"SLURM_JOB_NODELIST", "n[08-09],m"}}), "n08=1 n09=1 m=1") << other;
    EXPECT_FALSE(made({}, {}, {{"SLURM_JOB_NODELIST", "n[08-09]"}, {"DLAUNCH_LAUNCHER", "ssh"}}).starts);
}

TEST(FrontPlanHosts, OptionsThatNeedHosts) {
    EXPECT_EQ(shown({"--launcher=ssh"}),
              "--launcher=ssh: no hosts, expected --hosts, --hostfile, WCOLL or an allocation of SLURM");
    for (const char* option : {"--include=w1", "--exclude=w1", "--num-nodes=2", "--num-gpus=-1"}) {
        const Made result = made({option});
        EXPECT_TRUE(result.starts) << option;
        EXPECT_TRUE(text_of(result).starts_with(std::string(option) + ": no hosts, expected --hosts"))
            << text_of(result);
    }
    EXPECT_FALSE(made({"--nnodes=2", "--launch-timeout=3", "--copy", "--export=NONE"}).starts);
}

TEST(FrontPlanHosts, ChoicesSetTheVisibleDevices) {
    const Files four{{"h", "w0 slots=4\nw1 slots=4\nw2 slots=4\nw3 slots=4\n"}};
    const auto chosen = [&](const std::string& option) { return shown({"--hostfile=h", option}, four); };
    EXPECT_EQ(chosen("--include=w1@w3:0,2"), "w1=4 w3=2:0,2");
    EXPECT_EQ(chosen("--exclude=w0@w1:0"), "w1=3:1,2,3 w2=4 w3=4");
    EXPECT_EQ(chosen("--num_nodes=2"), "w0=4 w1=4");
    EXPECT_EQ(chosen("--num_gpus=1"), "w0=1:0 w1=1:0 w2=1:0 w3=1:0");
    EXPECT_EQ(shown({"--hosts=a:2,b:2", "--virtual-local-rank"}, {}, {{"CUDA_VISIBLE_DEVICES", "0,1"}}), "a=2 b=2")
        << "a list of two serves the two workers of each host";
    EXPECT_EQ(chosen("--include=w9"), "--include=w9: host w9, expected one of the 4 hosts that were given");
}

TEST(FrontPlanHosts, NumbersOfWorkersAndNodes) {
    EXPECT_EQ(shown({"--hosts=a:4,b:4", "--nproc-per-node=2"}), "a=2 b=2");
    EXPECT_EQ(shown({"--hosts=a:4,b:4", "--nproc-per-node=gpu"}), "a=0 b=0");
    EXPECT_EQ(shown({"--hosts=a:2,b:4", "-n", "5"}), "a=2 b=3");
    EXPECT_EQ(shown({"--hosts=a,b", "-n5"}), "a=3 b=2");
    EXPECT_EQ(shown({"--hosts=a:2,b:4", "-n", "7"}),
              "-n 7: 7 workers for 6 free slots, expected no more workers than slots");
    EXPECT_EQ(shown({"--hosts=a:2,b:4", "--nproc-per-node=3"}),
              "--nproc-per-node=3: 3 workers for 2 free slots of a, expected no more workers than slots");
    EXPECT_EQ(shown({"--hosts=a,b,c,d", "--nnodes=2"}), "a=1 b=1 | c=1 d=1");
    EXPECT_EQ(shown({"--hosts=a,b,c,d", "--nnodes=2:3"}), "a=1 b=1 c=1 | d=1");
    EXPECT_EQ(shown({"--hosts=a,b", "--nnodes=3"}), "--nnodes=3: 3 nodes, expected at most 2, the number of hosts");
}

TEST(FrontPlanHosts, RanksThatDoNotExist) {
    EXPECT_EQ(shown({"--hosts=a:2,b:2", "--stdin=3"}), "a=2 b=2");
    EXPECT_EQ(shown({"--hosts=a:2,b:2", "--stdin=4"}), "--stdin=4: expected a rank below 4, the number of workers");
    EXPECT_EQ(shown({"--hosts=a:2", "--stdin=2"}), "--stdin=2: expected a rank below 2, the number of workers");
    EXPECT_EQ(shown({"--hosts=a,b", "--nnodes=1:2", "--stdin=4"}), "a=1 b=1");
    EXPECT_EQ(shown({"--hosts=a", "--nproc-per-node=gpu", "--stdin=4"}), "a=0");
    EXPECT_EQ(made({"--hosts=a:2,b:2", "--wrap=3:nice"}).warnings, Words());
    EXPECT_EQ(made({"--hosts=a:2,b:2", "--wrap=4:nice"}).warnings,
              Words{"--wrap: there is no rank 4 of this program to run under nice"});
    EXPECT_EQ(made({"--hosts=a:2", "--wrap=4:nice"}).warnings, Words()) << "the node itself has one";
}

}  // namespace
}  // namespace dlaunch::launcher
