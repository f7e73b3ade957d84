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
        (std::vector<Words>{{"--max-restarts=1", "--nproc-per-node=1", "--appnum=0", "--env=K=V", "--", "./ps", "x",
                             ":", "--nproc-per-node=1", "--appnum=1", "--role=w", "--", "./worker"},
                            {"--max-restarts=1", "--nproc-per-node=2", "--appnum=1", "--role=w", "--", "./worker"}}));
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
              (std::vector<Words>{{"--nproc-per-node=1", "--appnum=0", "--", "a"},
                                  {"--nproc-per-node=1", "--appnum=1", "--", "b"}}));
}

}  // namespace
}  // namespace dlaunch::launcher
