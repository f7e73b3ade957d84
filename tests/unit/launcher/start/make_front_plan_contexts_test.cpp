#include <gtest/gtest.h>

#include "launcher/command_line.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

base::Result<Invocation> read(Words words, std::vector<std::pair<std::string, std::string>> environment = {}) {
    words.insert(words.begin(), "dlaunch");
    Deps machine = small_machine(std::move(environment));
    machine.current_folder = [] { return std::string("/here"); };
    machine.linked_with = [](const ProgramFiles& files) -> Linked {
        const std::string& path = files.candidates.front();
        if (path.ends_with("/mpich")) return {agent::MpiFamily::pmi1, "libmpich.so.12"};
        if (path.ends_with("/ompi")) return {agent::MpiFamily::pmix, "libmpi.so.40"};
        return {};
    };
    return read_command_line(words, machine);
}

/// The words of each node's command line behind those that all jobs have.
std::vector<Words> nodes(const Words& words, std::vector<std::pair<std::string, std::string>> environment = {}) {
    const auto invocation = read(words, std::move(environment));
    EXPECT_TRUE(invocation) << invocation.error().text;
    std::vector<Words> found;
    for (const FrontNode& node : invocation->front.nodes) {
        EXPECT_EQ(node.words.at(3), "--rdzv-id=fresh");
        found.emplace_back(node.words.begin() + 4, node.words.end());
    }
    return found;
}

/// "na=1 nb=2": the hosts and their workers, or the error.
std::string hosts(const Words& words) {
    const auto invocation = read(words);
    if (!invocation) return invocation.error().text;
    std::string text;
    for (const FrontNode& node : invocation->front.nodes)
        text += (text.empty() ? "" : " ") + node.host.name + "=" + std::to_string(node.workers);
    return text;
}

TEST(FrontPlanContexts, ANodeGetsThoseThatHaveWorkersThere) {
    const Words first{"--hosts=na:2,nb:2", "--max-restarts=1", "-n", "1", "--env=K=V", "./ps", "x"};
    Words words = first;
    words.insert(words.end(), {":", "-n", "3", "--role=w", "./worker"});
    EXPECT_EQ(
        nodes(words),
        (std::vector<Words>{
            {"--max-restarts=1", "--store=open", "--nproc-per-node=1", "--appnum=0", "--env=K=V", "--", "./ps", "x",
             ":", "--nproc-per-node=1", "--appnum=1", "--role=w", "--", "./worker"},
            {"--max-restarts=1", "--store=open", "--nproc-per-node=2", "--appnum=1", "--role=w", "--", "./worker"}}));
}

TEST(FrontPlanContexts, MayHaveHostsOfTheirOwn) {
    EXPECT_EQ(hosts({"--launcher=fork", "-n", "1", "--hosts=na", "a", ":", "-n", "4", "--hosts=nb:2,nc:2", "b"}),
              "na=1 nb=2 nc=2");
    EXPECT_EQ(hosts({"-n", "1", "a", ":", "--hosts=nb", "b"}).substr(0, 18), "--launcher: no hos")
        << "the first one has none";
}

TEST(FrontPlanContexts, OthersShareTheHostsOfTheFirst) {
    const Words words{"--hosts=na:2", "-n", "1", "a", ":", "-n", "1", "--hosts=nb", "b", ":", "-n"};
    const auto with_last = [&](const char* workers) {
        Words all = words;
        all.insert(all.end(), {workers, "c"});
        return hosts(all);
    };
    EXPECT_EQ(with_last("1"), "na=2 nb=1");
    EXPECT_NE(with_last("2").find("slots"), std::string::npos) << "one slot is taken";
}

TEST(FrontPlanContexts, AVariableNamesTheHostsOfTheJob) {
    EXPECT_EQ(nodes({"-n", "1", "a", ":", "-n", "1", "b"}, {{"DLAUNCH_HOSTS", "na:1,nb:1"}}),
              (std::vector<Words>{{"--store=open", "--nproc-per-node=1", "--appnum=0", "--", "a"},
                                  {"--store=open", "--nproc-per-node=1", "--appnum=1", "--", "b"}}));
}

TEST(FrontPlanContexts, ShareTheProtocolOfMpiOnAllNodes) {
    EXPECT_EQ(nodes({"--hosts=na:1,nb:1", "-n", "1", "./tool", ":", "-n", "1", "./ompi"}),
              (std::vector<Words>{{"--mpi=pmix", "--store=open", "--nproc-per-node=1", "--appnum=0", "--", "./tool"},
                                  {"--mpi=pmix", "--store=open", "--nproc-per-node=1", "--appnum=1", "--", "./ompi"}}));
    EXPECT_EQ(nodes({"--hosts=na:1", "--mpi=auto", "./mpich"}),
              (std::vector<Words>{{"--mpi=pmi1", "--store=open", "--nproc-per-node=1", "--", "./mpich"}}));
    EXPECT_EQ(nodes({"--hosts=na:1", "--mpi=none", "./mpich"}),
              (std::vector<Words>{{"--mpi=none", "--store=open", "--nproc-per-node=1", "--", "./mpich"}}));
    const std::string two_libraries = hosts({"--hosts=na:1,nb:1", "-n", "1", "./mpich", ":", "-n", "1", "./ompi"});
    EXPECT_NE(two_libraries.find("expected programs of one MPI library in a job"), std::string::npos) << two_libraries;
    const std::string not_the_named =
        hosts({"--hosts=na:1,nb:1", "--mpi=pmi1", "-n", "1", "a", ":", "-n", "1", "./ompi"});
    EXPECT_NE(not_the_named.find("expected pmix or auto"), std::string::npos) << not_the_named;
}

TEST(FrontPlanContexts, RanksCountThroughTheProgramsOfAllHosts) {
    const auto warnings = [](const std::string& first, const std::string& second) {
        return read({"--launcher=fork", "--hosts=na:2,nb:2", "-n", "3", "--wrap", first, "a", ":", "-n", "1", "--wrap",
                     second, "b"})
            ->warnings;
    };
    EXPECT_EQ(warnings("0,2:nice", "3:nice"), Words());
    EXPECT_EQ(warnings("3:nice", "2:nice"), (Words{"--wrap: there is no rank 3 of this program to run under nice",
                                                   "--wrap: there is no rank 2 of this program to run under nice"}));
    EXPECT_EQ(read({"--hosts=na:2,nb:2", "--stdin=4", "-n", "3", "a", ":", "-n", "1", "b"}).error().text,
              "--stdin=4: expected a rank below 4, the number of workers");
}

TEST(FrontPlanContexts, ADryRunShowsTheReaders) {
    const auto shows = [](Words words, const std::string& readers) {
        words.insert(words.begin(), {"--dry-run", "--launcher=fork"});
        return read(words)->output.find("\"stdin\": \"" + readers + "\"") != std::string::npos;
    };
    EXPECT_TRUE(shows({"--hosts=na,nb", "prog"}, "none"));
    EXPECT_TRUE(shows({"--hosts=na", "prog"}, "all"));
    EXPECT_TRUE(shows({"--hosts=na", "--nproc-per-node=cpu", "prog"}, "(a single worker)"));
    EXPECT_TRUE(shows({"--hosts=na,nb", "./ompi"}, "rank 0"));
    EXPECT_TRUE(shows({"--hosts=na,nb", "./prog", ":", "./mpich"}, "rank 0"));
    EXPECT_TRUE(shows({"--hosts=na,nb", "--stdin=1", "./mpich"}, "rank 1"));
}

}  // namespace
}  // namespace dlaunch::launcher
