#include "launcher/mpi/wrapped.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

TEST(Wrapped, ArgumentsOfAWrapper) {
    EXPECT_EQ(names_behind({"env", "-i", "HOME=/", "./a", "in.dat"}, ""), (Words{"./a", "in.dat"}));
    EXPECT_EQ(names_behind({"/usr/bin/numactl", "--localalloc", "./a"}, ""), Words{"./a"});
    EXPECT_EQ(names_behind({"sh", "-c", "cd /data && ./a <in; ./b"}, ""), (Words{"cd", "/data", "./a", "in", "./b"}));
    EXPECT_EQ(names_behind({"./env.x", "./a"}, ""), Words{});
    EXPECT_EQ(names_behind({"python3", "./a"}, ""), Words{});
}

TEST(Wrapped, WordsOfAScript) {
    EXPECT_EQ(names_behind({"./run.sh", "./x"}, "#!/bin/sh\n # ./old\nmodule load mpi # ./older\nexec \"./a\" $1\n"),
              (Words{"module", "load", "mpi", "exec", "./a"}));
    EXPECT_EQ(names_behind({"./run.sh"}, "./a || ./a\n(./b)\n"), (Words{"./a", "./b"}));
}

TEST(Wrapped, NoneBehindALauncher) {
    for (const char* launcher : {"mpirun", "/opt/mpi/bin/mpiexec", "mpiexec.hydra", "srun", "torchrun"})
        EXPECT_EQ(names_behind({"./run.sh"}, "#!/bin/sh\n" + std::string(launcher) + " -n 2 ./a\n"), Words{});
    EXPECT_EQ(names_behind({"env", "srun", "./a"}, ""), Words{});
}

TEST(Wrapped, NoMoreThanAFew) {
    std::string script;
    for (int n = 0; n < 1000; ++n) script += "./a" + std::to_string(n) + '\n';
    EXPECT_EQ(names_behind({"./run.sh"}, script).size(), kMostWrapped);
}

}  // namespace
}  // namespace dlaunch::launcher
