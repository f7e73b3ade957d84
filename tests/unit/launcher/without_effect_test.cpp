#include "launcher/without_effect.hpp"

#include <gtest/gtest.h>

#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

Words warnings(const Words& words, bool starts_hosts = false, bool is_terminal = false,
               std::vector<std::pair<std::string, std::string>> environment = {{"TERM", "xterm"}},
               bool has_input = false) {
    Words found;
    const auto settings = parse(normalize_contexts(words)->front().options);
    Deps machine = small_machine(std::move(environment));
    machine.console_is_terminal = [is_terminal] { return is_terminal; };
    machine.has_input = [has_input] { return has_input; };
    warn_without_effect(*settings, *planned(words, machine).plan, machine, starts_hosts, found);
    return found;
}

TEST(WithoutEffect, IsSaidOfOptionsThatLackAnother) {
    EXPECT_EQ(warnings({"--rotate=1K", "p"}), Words{"--rotate=1K has no effect without log files: add -r 3 or -t 3"});
    EXPECT_EQ(warnings({"--keep-runs=3", "p"}),
              Words{"--keep-runs=3 has no effect without log files: add -r 3 or -t 3"});
    EXPECT_EQ(warnings({"--restart-backoff=3", "p"}),
              Words{"--restart-backoff=3 has no effect without restarts: add --max-restarts"});
    EXPECT_EQ(warnings({"--quiet", "-v", "p"}), Words{"-v and --quiet undo each other"});
    EXPECT_EQ(warnings({"--copy", "p"}), Words{"--copy has no effect without hosts: add --hosts or --hostfile"});
    EXPECT_EQ(
        warnings({"--log-line-prefix-template=x", "p"}),
        Words{"--log-line-prefix-template=x has no effect without prefixed output: add --prefix, -t 3 or --fold"});
}

TEST(WithoutEffect, IsSaidOfALoneNode) {
    for (const std::string option : {"--node-timeout=5", "--store=relay", "--store=open", "--node-cooldown=3"}) {
        EXPECT_EQ(warnings({option, "p"}), Words{option + " has no effect without several nodes: add --nnodes"});
        EXPECT_EQ(warnings({option, "--nnodes=2", "p"}), Words{});
    }
    EXPECT_EQ(warnings({"--node-timeout=5", "p"}, true), Words{}) << "the lease on the front end";
}

TEST(WithoutEffect, IsNotSaidWhereTheOtherIsThere) {
    EXPECT_EQ(warnings({"--rotate=1K", "-r", "3", "p"}), Words{});
    EXPECT_EQ(warnings({"--keep-runs=3", "-r", "3", "p"}), Words{});
    EXPECT_EQ(warnings({"--keep-runs=3", "--log-dir=logs", "p"}), Words{}) << "keeps the runs' error files";
    EXPECT_EQ(warnings({"--restart-backoff=3", "--max-restarts=1", "p"}), Words{});
    EXPECT_EQ(warnings({"--copy", "p"}, true), Words{});
    EXPECT_EQ(warnings({"--log-line-prefix-template=x", "-t", "0:1", "p"}), Words{});
}

TEST(WithoutEffect, IsSaidOfTheConsoleWithoutOutput) {
    for (const char* option : {"--prefix", "--timestamps", "--fold"}) {
        EXPECT_EQ(warnings({option, "-r", "3", "--nproc-per-node=2", "p"}),
                  Words{std::string(option) + " has no effect without output on the console: use -t in place of -r"});
        EXPECT_EQ(warnings({option, "-r", "1", "--nproc-per-node=2", "p"}), Words{});
        EXPECT_EQ(warnings({option, "-r", "0:3", "--nproc-per-node=2", "p"}), Words{});
        EXPECT_EQ(warnings({option, "-r", "3", "-t", "1", "--nproc-per-node=2", "p"}), Words{});
    }
    EXPECT_EQ(warnings({"--prefix", "-r", "0:3,1:3", "--nproc-per-node=2", "p"}).size(), 1U);
    EXPECT_EQ(warnings({"--fold", "p"}), Words{"--fold has no effect without several workers: add --nproc-per-node"});
}

TEST(WithoutEffect, IsSaidOfWhatAFrontEndDecides) {
    EXPECT_EQ(warnings({"--node-rank=0", "p"}, true),
              Words{"--node-rank=0 has no effect with --hosts: the hosts are numbered in the order of their list"});
    for (const std::string option : {"--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400", "--master-addr=node1"})
        EXPECT_EQ(warnings({option, "p"}, true),
                  Words{option + " has no effect with --hosts: the front end hosts the rendezvous"});
    for (const std::string option : {"--remote-dlaunch=/opt/dlaunch", "--copy", "--launcher-args=-v"}) {
        EXPECT_EQ(warnings({option, "--launcher=fork", "p"}, true),
                  Words{option + " has no effect with --hosts: --launcher=fork runs this program"});
        EXPECT_EQ(warnings({option, "p"}, true), Words{});
    }
    EXPECT_EQ(warnings({"--copy", "--remote-dlaunch=/opt/dlaunch", "p"}, true),
              Words{"--remote-dlaunch=/opt/dlaunch has no effect with --hosts: --copy sends this program"});
    EXPECT_EQ(warnings({"--node-rank=0", "--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400", "p"}), Words{});
}

TEST(WithoutEffect, InputThatNobodyReads) {
    const auto with_input = [](const Words& words) { return warnings(words, false, false, {{"TERM", "xterm"}}, true); };
    const auto count = [&](const Words& words) { return with_input(words).size(); };
    EXPECT_EQ(with_input({"--nproc-per-node=2", "p"}),
              Words{"no worker reads standard input: --stdin=0 passes it to rank 0, --stdin=all to all, and "
                    "--stdin=none says that this is meant"});
    EXPECT_EQ(count({"--nnodes=2", "p"}), 1U);
    EXPECT_EQ(count({"p"}), 0U);
    for (const char* ranks : {"0", "all", "none"})
        EXPECT_EQ(count({std::string("--stdin=") + ranks, "--nproc-per-node=2", "p"}), 0U) << ranks;
    EXPECT_EQ(count({"--mpi=pmi1", "--nproc-per-node=2", "p"}), 0U) << "rank 0 reads";
}

TEST(WithoutEffect, DependsOnTheTerminal) {
    const Words prefix{"--log-line-prefix-template=x", "--nproc-per-node=2", "p"};
    EXPECT_EQ(warnings(prefix, false, true), Words{}) << "the live view has prefixes";
    EXPECT_EQ(warnings(prefix).size(), 1U);
    EXPECT_EQ(warnings({"--ui=plain", prefix[0], prefix[1], "p"}, false, true).size(), 1U);
    EXPECT_EQ(warnings({prefix[0], "p"}, false, true).size(), 1U);
    EXPECT_EQ(warnings({"--ui=live", "--nproc-per-node=2", "p"}, false, true), Words{});
    EXPECT_EQ(warnings({"--ui=live", "--nproc-per-node=2", "p"}),
              Words{"--ui=live has no effect without a terminal for standard output and error"});
    EXPECT_EQ(warnings({"--ui=live", "p"}, false, true),
              Words{"--ui=live has no effect without several workers: add --nproc-per-node"});
    EXPECT_EQ(warnings({"--ui=live", "p"}, true, true), Words{});
    EXPECT_EQ(warnings({"--ui=auto", "p"}), Words{});
}

TEST(WithoutEffect, DependsOnTheNodes) {
    EXPECT_EQ(warnings({"--export=A", "p"}),
              Words{"--export=A has no effect without hosts: add --hosts or --hostfile"});
    EXPECT_EQ(warnings({"--export=A", "p"}, true), Words{});
    const Words nodes{"--rdzv-backend=c10d", "--rdzv-endpoint=h:1"};
    EXPECT_EQ(warnings({"--scale-up=never", "--nnodes=2", nodes[0], nodes[1], "p"}),
              Words{"--scale-up=never has no effect without a range of nodes: add --nnodes=MIN:MAX"});
    EXPECT_EQ(warnings({"--scale-up=never", "--nnodes=1:2", nodes[0], nodes[1], "p"}), Words{});
    EXPECT_EQ(warnings({"--node-cooldown=5", "p"}),
              Words{"--node-cooldown=5 has no effect without several nodes: add --nnodes"});
    EXPECT_EQ(warnings({"--node-cooldown=5", "--nnodes=2", nodes[0], nodes[1], "p"}), Words{});
}

TEST(WithoutEffect, AMistypedVariableIsNamed) {
    EXPECT_EQ(warnings({"p"}, false, false, {{"DLAUNCH_NPROC", "2"}, {"DLAUNCH_OF_MINE", "3"}}),
              Words{"DLAUNCH_NPROC has no effect; did you mean DLAUNCH_NPROC_PER_NODE?"});
}

TEST(WithoutEffect, UnknownNamesInAPrefixAreNamed) {
    const std::string fine = "--log-line-prefix-template=$${a} ${rank} $b ${";
    EXPECT_EQ(warnings({fine, "-t", "3", "p"}), Words{});
    EXPECT_EQ(warnings({"--log-line-prefix-template=${planet}", "-t", "3", "p"}),
              Words{"--log-line-prefix-template: no value for ${planet}, expected one of ${role_name}, "
                    "${local_rank}, ${rank}, ${hostname}"});
}

TEST(WithoutEffect, StandaloneChoosesItsPortAndId) {
    for (const char* option : {"--rdzv-id=j", "--master-port=29400", "--rdzv-endpoint=a:1", "--node-rank=0"})
        EXPECT_EQ(
            warnings({"--standalone", option, "p"}),
            Words{std::string(option) + " has no effect with --standalone, which chooses a port and a job id itself"});
    EXPECT_EQ(warnings({"--standalone", "--rdzv-backend=c10d", "p"}), Words{}) << "torch's usual words";
}

}  // namespace
}  // namespace dlaunch::launcher
