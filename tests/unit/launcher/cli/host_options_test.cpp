#include "launcher/cli/host_options.hpp"

#include <gtest/gtest.h>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/parse.hpp"

namespace dlaunch::launcher {
namespace {

HostOptions read(const std::vector<std::string>& words) { return parse(normalize(words)->options).value().hosts; }

std::string error_of(const std::string& word) {
    const auto settings = parse(normalize({word})->options);
    return settings ? "none" : settings.error().text;
}

TEST(HostOptions, HostsAndFiles) {
    EXPECT_EQ(read({"--hosts=ann@n[1-2]:4,m"}).hosts,
              (std::vector<HostEntry>{{"n1", "ann", 4}, {"n2", "ann", 4}, {"m", "", std::nullopt}}));
    EXPECT_EQ(read({"--hostfile=hosts"}).hostfile, "hosts");
    EXPECT_EQ(error_of("--hosts=a,b,a"), "--hosts=a,b,a: a twice, expected each host once; a:2 has two slots");
    EXPECT_EQ(error_of("--hosts=n[2-1]:2"),
              "--hosts=n[2-1]:2: n[2-1]: range 2-1, expected its first number not above its last");
}

TEST(HostOptions, DeepSpeedsOptionsInItsSpelling) {
    const HostOptions options = read({"--num_nodes", "2", "--num_gpus=-1", "--include=w1@w3:0,2"});
    EXPECT_EQ(options.num_nodes, 2);
    EXPECT_EQ(options.num_gpus, std::nullopt);
    EXPECT_EQ(options.include, (std::vector<HostChoice>{{"w1", {}}, {"w3", {0, 2}}}));
    for (const char* value : {"0", "-2", "x", "", "131073"})
        EXPECT_EQ(error_of(std::string("--num_nodes=") + value),
                  std::string("--num_nodes=") + value + ": expected a number of nodes from 1 to 131072, or -1 for all");
    EXPECT_EQ(error_of("--num-gpus=0"), "--num-gpus=0: expected a number of GPUs from 1 to 1024, or -1 for all");
}

TEST(HostOptions, Launchers) {
    for (const Starter starter : {Starter::ssh, Starter::pdsh, Starter::srun, Starter::fork, Starter::manual})
        EXPECT_EQ(read({"--launcher=" + std::string(starter_name(starter))}).starter, starter);
    EXPECT_EQ(error_of("--launcher=rsh"), "--launcher=rsh: expected ssh, pdsh, srun, fork or manual");
    EXPECT_EQ(read({"--launcher-args=-p 2222 -o 'ProxyCommand=nc %h 22'"}).launcher_args,
              (std::vector<std::string>{"-p", "2222", "-o", "ProxyCommand=nc %h 22"}));
    EXPECT_EQ(read({"--launch-timeout=0.5"}).launch_timeout, std::chrono::milliseconds(500));
    EXPECT_EQ(error_of("--launch-timeout=0"), "--launch-timeout=0: expected a number of seconds above 0");
    EXPECT_TRUE(read({"--copy"}).copy);
    EXPECT_TRUE(read({"--collect-logs"}).collect_logs);
}

TEST(HostOptions, Export) {
    const auto rule = [](const std::string& value) { return read({"--export=" + value}).exported; };
    EXPECT_EQ(rule("ALL"), ExportRule());
    EXPECT_EQ(rule("NONE"), (ExportRule{false, {}, {}}));
    EXPECT_EQ(rule("MINE,HF_HOME,SET=a=b c"), (ExportRule{false, {"MINE", "HF_HOME"}, {{"SET", "a=b c"}}}));
    EXPECT_EQ(rule("ALL,K=V"), (ExportRule{true, {}, {{"K", "V"}}}));
    EXPECT_EQ(rule("K="), (ExportRule{false, {}, {{"K", ""}}}));
    for (const char* value : {"", ",", "A,", "NONE,A", "1A", "A B", "=x", "A-B=1"})
        EXPECT_NE(error_of(std::string("--export=") + value).find(": expected ALL, NONE, or names"), std::string::npos)
            << value;
}

}  // namespace
}  // namespace dlaunch::launcher
