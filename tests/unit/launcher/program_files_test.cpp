#include "launcher/program_files.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

/// The error of a job with this program; empty: none. Files that are not listed are missing.
std::string error_of(const agent::Program& program, const std::map<std::string, Presence>& files) {
    agent::Plan plan;
    plan.host.environment = {{"PATH", "/bin:/usr/bin"}};
    plan.contexts = {{}};
    plan.contexts[0].program = program;
    Deps deps;
    deps.presence = [&](const std::string& path) {
        const auto found = files.find(path);
        return found == files.end() ? Presence::missing : found->second;
    };
    auto checked = check_programs(plan, deps, true);
    if (checked) return {};
    EXPECT_EQ(checked.error().status, 127);
    return checked.error().text;
}

agent::Program script(const std::string& name) {
    agent::Program made;
    made.command = {"python3", "-u", name};
    made.name_index = 2;
    made.is_python = true;
    made.working_directory = "/jobs";
    return made;
}

agent::Program program(const std::string& name) {
    agent::Program made;
    made.command = {name};
    made.working_directory = "/jobs";
    return made;
}

TEST(CheckPrograms, AMissingScriptIsAnError) {
    EXPECT_EQ(error_of(script("train.py"), {}), "train.py: no such file in /jobs, expected a Python script");
    EXPECT_EQ(error_of(script("train.py"), {{"/jobs/train.py", Presence::there}}), "");
    EXPECT_EQ(error_of(script("/a/train.py"), {{"/a/train.py", Presence::unknown}}), "");
}

TEST(CheckPrograms, AModuleAndAScriptBehindAWrapperMayBeAnywhere) {
    agent::Program module = script("train");
    module.command = {"python3", "-u", "-m", "train"};
    module.name_index = 3;
    EXPECT_EQ(error_of(module, {}), "");
    agent::Program wrapped = script("train.py");
    wrapped.wraps = {{}};
    EXPECT_EQ(error_of(wrapped, {}), "");
    EXPECT_EQ(error_of(script("train-${local_rank}.py"), {}), "");
}

TEST(CheckPrograms, AProgramOfTheWorkingDirectoryNeedsItsPath) {
    const std::map<std::string, Presence> here{{"/jobs/ring", Presence::there}};
    EXPECT_EQ(error_of(program("ring"), here), "ring: not found in PATH, but there is ./ring: expected dlaunch ./ring");
    EXPECT_EQ(error_of(program("ring"), {{"/jobs/ring.py", Presence::there}}),
              "ring: not found in PATH, but there is ./ring.py: expected dlaunch ring.py");
    EXPECT_EQ(error_of(program("ring"), {{"/jobs/ring.py", Presence::there}, {"/jobs/ring", Presence::there}}),
              "ring: not found in PATH, but there is ./ring: expected dlaunch ./ring");
    EXPECT_EQ(error_of(program("./ring"), here), "");
    EXPECT_EQ(error_of(program("ring"), {}), "") << "the start of the worker tells why";
    EXPECT_EQ(error_of(program("ring"), {{"/jobs/ring", Presence::there}, {"/usr/bin/ring", Presence::there}}), "");
    EXPECT_EQ(error_of(program("ring"), {{"/jobs/ring", Presence::there}, {"/bin/ring", Presence::unknown}}), "");
}

}  // namespace
}  // namespace dlaunch::launcher
