#include "launcher/mpi/python_program.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Program = std::optional<PythonProgram>;

Program script(std::string path) { return PythonProgram{std::move(path), {}, {}}; }
Program module(std::string name) { return PythonProgram{{}, std::move(name), {}}; }
Program code(std::string text) { return PythonProgram{{}, {}, std::move(text)}; }

TEST(PythonProgram, IsWhatTheInterpreterRuns) {
    EXPECT_EQ(python_program({"python3", "-u", "a.py", "-m", "x"}), script("a.py"));
    EXPECT_EQ(python_program({"/usr/bin/python3.11", "a"}), script("a"));
    EXPECT_EQ(python_program({"python", "-X", "dev", "-W", "error", "-Xutf8", "a.py"}), script("a.py"));
    EXPECT_EQ(python_program({"python", "--check-hash-based-pycs", "a.py"}), script("a.py"));
    EXPECT_EQ(python_program({"python", "-u", "-m", "mpi4py", "a.py"}), module("mpi4py"));
    EXPECT_EQ(python_program({"python", "-um", "pack.mod"}), module("pack.mod"));
    EXPECT_EQ(python_program({"python", "-mpack"}), module("pack"));
    EXPECT_EQ(python_program({"python", "-Ic", "import a"}), code("import a"));
}

TEST(PythonProgram, IsNoneForOtherPrograms) {
    EXPECT_EQ(python_program({}), std::nullopt);
    EXPECT_EQ(python_program({"python3"}), std::nullopt);
    EXPECT_EQ(python_program({"python3", "-"}), std::nullopt);
    EXPECT_EQ(python_program({"python3", "-m"}), std::nullopt);
    EXPECT_EQ(python_program({"python3-config", "a.py"}), std::nullopt);
    EXPECT_EQ(python_program({"./a.py"}), std::nullopt);
    EXPECT_EQ(python_program({"/opt/python/bin/tool", "a.py"}), std::nullopt);
}

TEST(ImportsMpi4py, OnALineOfItsOwnOrAmongOthers) {
    for (const char* text : {"import mpi4py", "import mpi4py.MPI as MPI", "from mpi4py import MPI",
                             "from mpi4py.futures import MPIPoolExecutor", "import os\nimport sys, mpi4py\n",
                             "import os; from mpi4py import MPI", "from mpi4py import MPI  # the world\r\n",
                             "import\tmpi4py", "\xEF\xBB\xBFimport mpi4py"})
        EXPECT_EQ(imports_mpi4py(text), Import::certain) << text;
}

TEST(ImportsMpi4py, PerhapsWhereItMayNeverRun) {
    for (const char* text :
         {"try:\n    from mpi4py import MPI\nexcept ImportError:\n    MPI = None\n", "def f():\n\timport mpi4py\n"})
        EXPECT_EQ(imports_mpi4py(text), Import::possible) << text;
}

TEST(ImportsMpi4py, NotWhereItIsOnlyNamed) {
    for (const char* text : {"", "import os", "# import mpi4py", "x = 1  # ; import mpi4py", "import mpi4pyx",
                             "from my.mpi4py import a", "print('import mpi4py')", "important mpi4py", "importmpi4py"})
        EXPECT_EQ(imports_mpi4py(text), Import::none) << text;
}

}  // namespace
}  // namespace dlaunch::launcher
