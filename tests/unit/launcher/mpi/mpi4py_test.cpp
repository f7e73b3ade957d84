#include "launcher/mpi/mpi4py.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/launcher/mpi/elf_image.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;
namespace fs = std::filesystem;

base::UniqueFd open_file(const std::string& path) {
    return base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// An installation of Python 3.11 in opt/, and a program beside it.
class Mpi4pyTest : public testing::Test {
protected:
    void SetUp() override {
        write("opt/bin/python3.11", elf_image({{"libc.so.6"}}), true);
        fs::create_symlink("python3.11", at("opt/bin/python3"));
        write("work/train.py", "from mpi4py import MPI\n");
    }

    [[nodiscard]] std::string at(const std::string& place) const { return root_.path() + "/" + place; }

    void write(const std::string& place, const std::string& content, bool is_executable = false) {
        fs::create_directories(fs::path(at(place)).parent_path());
        std::ofstream(at(place)) << content;
        if (is_executable) fs::permissions(at(place), fs::perms::owner_all);
    }

    /// mpi4py in this folder of modules.
    void install(const std::string& folder, const std::string& library, const std::string& name = "MPI.abi3.so") {
        write(folder + "/mpi4py/__init__.py", "");
        write(folder + "/mpi4py/" + name, elf_image({{library, "libc.so.6"}}));
    }

    Linked linked(PythonProgram program = {"train.py", {}, {}}, const std::string& search_path = {},
                  const std::string& interpreter = "opt/bin/python3") {
        ProgramFiles files{{at(interpreter)}, "", at("work"), {}};
        files.python = {std::move(program), search_path, at("home")};
        return linked_with(files, open_file);
    }

    TemporaryFolder root_;
    const Linked open_mpi_{MpiFamily::pmix, "libmpi.so.40", true}, mpich_{MpiFamily::pmi1, "libmpich.so.12", true};
};

TEST_F(Mpi4pyTest, IsFoundInTheInterpretersFolders) {
    for (const char* folder : {"opt/lib/python3.11/site-packages", "opt/lib64/python3.11/site-packages",
                               "opt/lib/python3/dist-packages", "opt/local/lib/python3.11/dist-packages"}) {
        install(folder, "libmpi.so.40");
        EXPECT_EQ(linked(), open_mpi_) << folder;
        fs::remove_all(at(folder));
    }
    EXPECT_EQ(linked(), (Linked{MpiFamily::none, "", true}));
}

TEST_F(Mpi4pyTest, TheSearchPathAndTheUsersFolderComeFirst) {
    install("opt/lib/python3.11/site-packages", "libmpi.so.40");
    install("home/.local/lib/python3.11/site-packages", "libmpich.so.12");
    EXPECT_EQ(linked(), mpich_);
    install("path", "libmpi.so.40");
    EXPECT_EQ(linked({"train.py", {}, {}}, "/absent:" + at("path")), open_mpi_);
    install("work", "libmpich.so.12");
    EXPECT_EQ(linked({"train.py", {}, {}}, at("path")), mpich_) << "beside the script";
}

TEST_F(Mpi4pyTest, AVirtualEnvironmentIsAloneUnlessItSaysOtherwise) {
    install("opt/lib/python3.11/site-packages", "libmpi.so.40");
    write("venv/pyvenv.cfg", "home = /opt/bin\ninclude-system-site-packages = false\n");
    fs::create_directories(at("venv/bin"));
    fs::create_symlink(at("opt/bin/python3.11"), at("venv/bin/python"));
    const PythonProgram program{"train.py", {}, {}};
    EXPECT_EQ(linked(program, {}, "venv/bin/python").library, "");
    write("venv/pyvenv.cfg", "include-system-site-packages = true\n");
    EXPECT_EQ(linked(program, {}, "venv/bin/python"), open_mpi_);
    install("venv/lib/python3.11/site-packages", "libmpich.so.12");
    EXPECT_EQ(linked(program, {}, "venv/bin/python"), mpich_);
}

/// The wheel of PyPI has a module for each ABI.
class Mpi4pyWheelTest : public Mpi4pyTest {
protected:
    void SetUp() override {
        Mpi4pyTest::SetUp();
        for (const char* folder : {"opt/lib/python3.11/site-packages", "venv/lib/python3.11/site-packages"}) {
            install(folder, "libmpi.so.40", "MPI.openmpi.cpython-311-x86_64-linux-gnu.so");
            install(folder, "libmpi.so.12", "MPI.mpich.cpython-311-x86_64-linux-gnu.so");
        }
        write("venv/pyvenv.cfg", "include-system-site-packages = false\n");
        fs::create_directories(at("venv/bin"));
        fs::create_symlink(at("opt/bin/python3.11"), at("venv/bin/python"));
    }
    void add_library(const std::string& place, const std::string& name) {
        write(place, elf_image({{"libc.so.6"}, "", "", name}));
    }
    Linked found(const std::string& abi, const std::string& library, const std::string& library_path = {},
                 const std::string& interpreter = "opt/bin/python3") {
        ProgramFiles files{{at(interpreter)}, library_path, at("work"), {}};
        files.python = {{"train.py", {}, {}}, {}, at("home"), abi, library};
        return linked_with(files, [this](const std::string& path) {
            return path.starts_with(root_.path()) ? open_file(path) : base::UniqueFd();  // no MPI of this machine
        });
    }
    const Linked unknown_{MpiFamily::none, "", true}, any_mpich_{MpiFamily::pmi1, "libmpi.so.12", true};
};

TEST_F(Mpi4pyWheelTest, TheVariableNamesTheAbi) {
    EXPECT_EQ(found("openmpi", ""), open_mpi_);
    EXPECT_EQ(found("Open MPI", ""), open_mpi_);
    EXPECT_EQ(found("MPICH", ""), any_mpich_);
    EXPECT_EQ(found("impi", ""), any_mpich_);
    EXPECT_EQ(found("other", ""), unknown_);
}

TEST_F(Mpi4pyWheelTest, OfNoLibraryIsUnknown) { EXPECT_EQ(found("", ""), unknown_); }

TEST_F(Mpi4pyWheelTest, TheFirstLibraryCounts) {
    add_library("libs/libmpi.so.40", "libmpi.so.40");
    EXPECT_EQ(found("", "", at("libs")), open_mpi_);
    add_library("libs/libmpi.so.12", "libmpi.so.12");
    EXPECT_EQ(found("", "", at("libs")), any_mpich_);
    add_library("libs/libmpi.so", "libmpi.so.40");
    EXPECT_EQ(found("", "", at("libs")), open_mpi_) << "the name of the library, not of the file";
    add_library("opt/lib/libmpi.so", "libmpi.so.12");
    EXPECT_EQ(found("", "", at("libs")), any_mpich_) << "beside the interpreter";
    EXPECT_EQ(found("", "", at("libs"), "venv/bin/python"), open_mpi_);
    add_library("venv/lib/libmpi.so.12", "libmpi.so.12");
    EXPECT_EQ(found("", "", at("libs"), "venv/bin/python"), any_mpich_) << "installed by pip";
}

TEST_F(Mpi4pyWheelTest, TheVariableNamesALibraryOrItsFolder) {
    add_library("opt/lib/libmpi.so", "libmpi.so.12");
    add_library("libs/libmpi.so.40", "libmpi.so.40");
    write("libs/damaged", "no library");
    EXPECT_EQ(found("", at("libs/libmpi.so.40")), open_mpi_);
    EXPECT_EQ(found("", at("libs")), open_mpi_);
    EXPECT_EQ(found("", "/absent:" + at("libs/damaged") + ":" + at("libs")), open_mpi_);
    EXPECT_EQ(found("", "libmpi.so.40", at("libs")), open_mpi_);
    EXPECT_EQ(found("", "/absent"), unknown_);
}

TEST_F(Mpi4pyTest, OnlyAProgramThatImportsItHasOne) {
    install("opt/lib/python3.11/site-packages", "libmpi.so.40");
    write("work/other.py", "import torch\n");
    EXPECT_EQ(linked({"other.py", {}, {}}), Linked{});
    EXPECT_EQ(linked({"absent.py", {}, {}}), Linked{});
    EXPECT_EQ(linked({{}, "torch", {}}), Linked{});
    EXPECT_EQ(linked({{}, "mpi4py.futures", {}}), open_mpi_);
    EXPECT_EQ(linked({{}, {}, "import mpi4py"}), open_mpi_);
}

TEST_F(Mpi4pyTest, OfAModuleOrAFolderTheFileCounts) {
    install("opt/lib/python3.11/site-packages", "libmpi.so.40");
    write("work/solver/run.py", "from mpi4py import MPI\n");
    write("work/solver/__main__.py", "import mpi4py\n");
    write("path/tool.py", "import mpi4py\n");
    EXPECT_EQ(linked({{}, "solver.run", {}}), open_mpi_);
    EXPECT_EQ(linked({{}, "solver", {}}), open_mpi_);
    EXPECT_EQ(linked({{}, "tool", {}}), Linked{});
    EXPECT_EQ(linked({{}, "tool", {}}, at("path")), open_mpi_);
    EXPECT_EQ(linked({"solver", {}, {}}), open_mpi_);
}

TEST_F(Mpi4pyTest, APossibleImportIsNoneWhereNothingIsInstalled) {
    write("work/train.py", "try:\n    from mpi4py import MPI\nexcept ImportError:\n    pass\n");
    EXPECT_EQ(linked(), Linked{});
    install("opt/lib/python3.11/site-packages", "libmpi.so.40");
    EXPECT_EQ(linked(), open_mpi_);
}

TEST_F(Mpi4pyTest, APipeIsNotRead) {
    ASSERT_EQ(mkfifo(at("work/pipe").c_str(), 0600), 0);
    const base::UniqueFd both(::open(at("work/pipe").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    ASSERT_EQ(::write(both.get(), "import mpi4py\n", 14), 14);
    EXPECT_EQ(linked({"pipe", {}, {}}), Linked{});
    char first = 0;
    EXPECT_EQ(::read(both.get(), &first, 1), 1);
}

}  // namespace
}  // namespace dlaunch::launcher
