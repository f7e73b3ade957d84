#include "launcher/plan_mpi.hpp"

#include <gtest/gtest.h>

#include "launcher/command_line.hpp"
#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;

/// A machine on which a program's name determines the MPI library that it is linked with.
Deps machine(std::vector<std::pair<std::string, std::string>> environment = {}) {
    Deps deps = small_machine(std::move(environment));
    deps.linked_with = [](const ProgramFiles& files) -> Linked {
        if (files.python && files.python->program.script == "unknown.py") return {MpiFamily::none, "", true};
        if (files.python && files.python->program.script == "ompi.py") return {MpiFamily::pmix, "libmpi.so.40", true};
        const std::string& path = files.candidates.front();
        if (path.ends_with("/mpich")) return {MpiFamily::pmi1, "libmpich.so.12"};
        if (path.ends_with("/ompi")) return {MpiFamily::pmix, "libmpi.so.40"};
        return {};
    };
    return deps;
}

std::vector<MpiFamily> families(const Words& words) {
    const Planned planned_ = planned(words, machine());
    if (!planned_.plan) return {};
    std::vector<MpiFamily> found;
    for (const agent::Context& context : planned_.plan->contexts) found.push_back(context.program.mpi);
    return found;
}

using Families = std::vector<MpiFamily>;

TEST(PlanMpi, AutoTakesWhatTheProgramIsLinkedWith) {
    EXPECT_EQ(families({"./mpich"}), Families{MpiFamily::pmi1});
    EXPECT_EQ(families({"--mpi=auto", "./ompi"}), Families{MpiFamily::pmix});
    EXPECT_EQ(families({"./tool"}), Families{MpiFamily::none});
    EXPECT_EQ(families({"--wrap", "all:gdb --args", "./ompi"}), Families{MpiFamily::pmix});
}

TEST(PlanMpi, PythonHasThatOfMpi4py) {
    EXPECT_EQ(families({"train.py"}), Families{MpiFamily::none});
    EXPECT_EQ(families({"-m", "ompi"}), Families{MpiFamily::none});
    EXPECT_EQ(families({"--mpi=pmix", "train.py"}), Families{MpiFamily::pmix});
    EXPECT_EQ(families({"ompi.py"}), Families{MpiFamily::pmix});
    EXPECT_EQ(families({"--no-python", "python3", "ompi.py"}), Families{MpiFamily::pmix});
    EXPECT_EQ(planned({"--mpi=pmi1", "ompi.py"}, machine()).error(),
              "--mpi=pmi1: expected pmix or auto, as ompi.py imports mpi4py, which is linked with libmpi.so.40, a "
              "library of Open MPI");
}

TEST(PlanMpi, Mpi4pyOfAnUnknownLibraryGetsAWarning) {
    const auto warnings = [](const Words& words) { return planned(words, machine()).warnings; };
    EXPECT_EQ(warnings({"-n", "2", "unknown.py"}),
              Words{"unknown.py imports mpi4py, whose MPI library was not found: name its protocol with --mpi=pmix "
                    "(Open MPI) or --mpi=pmi1 (MPICH), or each process is rank 0 of 1"});
    EXPECT_EQ(warnings({"unknown.py"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "--mpi=pmix", "unknown.py"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "--mpi=none", "unknown.py"}), Words{});
}

TEST(PlanMpi, TheNamedFamilyServesEveryProgramOfItOrOfNone) {
    EXPECT_EQ(families({"--mpi=pmi1", "./mpich"}), Families{MpiFamily::pmi1});
    EXPECT_EQ(families({"--mpi=pmi1", "./tool"}), Families{MpiFamily::pmi1});
    EXPECT_EQ(families({"--mpi=none", "./ompi"}), Families{MpiFamily::none});
}

TEST(PlanMpi, SeveralProcessesWithoutAFamilyGetAWarning) {
    const auto warnings = [](const Words& words) { return planned(words, machine()).warnings; };
    EXPECT_EQ(
        warnings({"-n", "2", "--mpi=none", "./ompi"}),
        Words{"--mpi=none: each MPI process is rank 0 of 1, as ./ompi is linked with libmpi.so.40, a library of Open "
              "MPI; --mpi=auto makes them one world"});
    EXPECT_EQ(warnings({"--nnodes=2", "--mpi=none", "./ompi"}).size(), 1u);
    EXPECT_EQ(warnings({"-n", "2", "--mpi=none", "./tool"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "--mpi=none", "train.py"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "--mpi=none", "ompi.py"}).size(), 1u);
}

TEST(PlanMpi, SeveralProcessesWithoutAFamilyOfTheEnvironmentAreRefused) {
    const Deps deps = machine({{"DLAUNCH_MPI", "none"}});
    const auto refused = read_command_line({"dlaunch", "-n", "2", "./ompi"}, deps);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().text.starts_with("DLAUNCH_MPI=none: expected auto or one worker, as ./ompi is linked "))
        << refused.error().text;
    EXPECT_TRUE(read_command_line({"dlaunch", "./ompi"}, deps));
}

TEST(PlanMpi, ProgramsOfAJobShareAFamily) {
    EXPECT_EQ(families({"-n", "1", "./tool", ":", "-n", "2", "./ompi"}), (Families{MpiFamily::pmix, MpiFamily::pmix}));
    EXPECT_EQ(families({"-n", "1", "./ompi", ":", "-n", "2", "./ompi"}), (Families{MpiFamily::pmix, MpiFamily::pmix}));
    EXPECT_EQ(families({"-n", "1", "./tool", ":", "-n", "2", "./tool"}), (Families{MpiFamily::none, MpiFamily::none}));
}

TEST(PlanMpi, AnotherFamilyIsAnError) {
    EXPECT_EQ(
        planned({"--mpi=pmix", "./mpich"}, machine()).error(),
        "--mpi=pmix: expected pmi1 or auto, as ./mpich is linked with libmpich.so.12, MPICH's or one with its ABI");
    EXPECT_EQ(planned({"--mpi=pmi1", "./ompi"}, machine()).error(),
              "--mpi=pmi1: expected pmix or auto, as ./ompi is linked with libmpi.so.40, a library of Open MPI");
    EXPECT_EQ(planned({"-n", "1", "./ompi", ":", "-n", "1", "./mpich"}, machine()).error(),
              "./ompi is linked with libmpi.so.40, a library of Open MPI, but ./mpich is linked with libmpich.so.12, "
              "MPICH's or one with its ABI; expected programs of one MPI library in a job");
}

TEST(PlanMpi, MpiCannotBeForked) {
    EXPECT_EQ(families({"--start-method=fork", "./ompi"}), Families{MpiFamily::none});
    EXPECT_EQ(planned({"--start-method=fork", "--mpi=pmix", "./ompi"}, machine()).error(),
              "--mpi=pmix: expected spawn as --start-method, because MPI cannot be forked");
}

TEST(PlanMpi, AProgramBehindAnotherGetsAWarning) {
    Deps deps = machine({{"PATH", "/bin"}});
    deps.shell_script = [](const ProgramFiles& files) -> std::string {
        const std::string& path = files.candidates.front();
        if (path.ends_with("/run.sh")) return "#!/bin/sh\n# ./mpich\ncd /data && exec './ompi' \"$@\"\n";
        return path.ends_with("/nested.sh") ? "#!/bin/sh\nmpiexec -n 2 ./mpich\n" : "";
    };
    const auto warnings = [&](const Words& words) { return planned(words, deps).warnings; };
    const std::string text =
        "./ompi behind {} is linked with libmpi.so.40: with --mpi=pmix its processes are one world; "
        "without, each is rank 0 of 1";
    const auto of = [&](const std::string& wrapper) {
        std::string warning = text;
        return Words{warning.replace(warning.find("{}"), 2, wrapper)};
    };
    EXPECT_EQ(warnings({"-n", "2", "./run.sh"}), of("./run.sh"));
    EXPECT_EQ(warnings({"-n", "2", "/usr/bin/env", "A=1", "./ompi"}), of("/usr/bin/env"));
    EXPECT_EQ(warnings({"-n", "2", "bash", "-c", "sleep 1; ./ompi < in"}), of("bash"));
    EXPECT_EQ(warnings({"./run.sh"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "--mpi=pmix", "./run.sh"}), Words{});
    EXPECT_EQ(warnings({"-n", "2", "./nested.sh"}), Words{}) << "mpiexec gives its processes their ranks";
    EXPECT_EQ(warnings({"-n", "2", "./tool", "./ompi"}), Words{}) << "an argument of any program";
}

TEST(PlanMpi, UnknownValuesAreErrors) {
    for (const char* value : {"--mpi=pmi3", "--mpi="})
        EXPECT_EQ(planned({value, "./ompi"}, machine()).error(),
                  std::string(value) + ": expected auto, pmi1, pmix or none");
}

TEST(PlanMpi, FilesAreThoseOfTheWorkersOwnSearch) {
    Deps deps = machine({{"PATH", "/a:/b"}, {"LD_LIBRARY_PATH", "/libs"}});
    ProgramFiles seen;
    deps.linked_with = [&seen](const ProgramFiles& files) {
        seen = files;
        return Linked{};
    };
    ASSERT_EQ(planned({"tool"}, deps).error(), "");
    EXPECT_EQ(seen, (ProgramFiles{{"/a/tool", "/b/tool"}, "/libs", seen.folder}));
    ASSERT_EQ(planned({"--chdir=/d", "--env=PATH=/c", "--env=LD_LIBRARY_PATH=", "./tool"}, deps).error(), "");
    EXPECT_EQ(seen, (ProgramFiles{{"/d/./tool"}, "", "/d"}));
    ASSERT_EQ(planned({"--chdir=/d", "--env=PATH=/c", "tool"}, deps).error(), "");
    EXPECT_EQ(seen.candidates, Words{"/c/tool"});
}

TEST(PlanMpi, TheVariableStandsForTheOption) {
    const auto invocation = read_command_line({"dlaunch", "./tool"}, machine({{"DLAUNCH_MPI", "pmi1"}}));
    EXPECT_EQ(invocation->plan.contexts.front().program.mpi, MpiFamily::pmi1);
}

}  // namespace
}  // namespace dlaunch::launcher
