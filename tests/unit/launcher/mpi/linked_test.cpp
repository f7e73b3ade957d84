#include "launcher/mpi/linked.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/launcher/mpi/elf_image.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;

/// A machine with these files.
class Files {
public:
    void add(const std::string& path, const ElfContent& content, mode_t mode = 0755) {
        files_[path] = {elf_image(content), mode};
    }
    void add_text(const std::string& path, const std::string& text) { files_[path] = {text, 0755}; }

    Linked linked(const std::vector<std::string>& candidates, const std::string& library_path = "") {
        opened.clear();
        return linked_with({candidates, library_path, "/here"}, [this](const std::string& path) {
            const auto found = files_.find(path);
            if (found == files_.end()) return base::UniqueFd();
            opened.push_back(path);
            return file_of(found->second.first, found->second.second);
        });
    }

    std::vector<std::string> opened;

private:
    std::map<std::string, std::pair<std::string, mode_t>> files_;
};

TEST(FamilyOf, KnowsTheLibrariesOfBothFamilies) {
    for (const char* name : {"libmpich.so.12", "libmpi.so.12", "libmpichfort.so.12", "libmpi_cray.so.12"})
        EXPECT_EQ(family_of(name), MpiFamily::pmi1) << name;
    for (const char* name : {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_cxx.so.40",
                             "libopen-rte.so.40", "libopen-pal.so.40", "liboshmem.so.40", "libmpi.so.20"})
        EXPECT_EQ(family_of(name), MpiFamily::pmix) << name;
    for (const char* name : {"libc.so.6", "libmpi.so", "libmp3lame.so.0", "libmpi.so.99", "libmpfr.so.6", ""})
        EXPECT_EQ(family_of(name), MpiFamily::none) << name;
}

TEST(LinkedWith, TheProgramItselfNeedsIt) {
    Files files;
    files.add("/bin/solver", {{"libm.so.6", "libmpi.so.40", "libc.so.6"}});
    EXPECT_EQ(files.linked({"/nowhere/solver", "/bin/solver"}), (Linked{MpiFamily::pmix, "libmpi.so.40"}));
    EXPECT_EQ(files.opened, std::vector<std::string>{"/bin/solver"});
}

TEST(LinkedWith, TheFirstThatCanBeExecutedIsTheProgram) {
    Files files;
    files.add("/a/solver", {{"libmpich.so.12"}}, 0644);
    files.add("/b/solver", {{"libc.so.6"}});
    files.add("/c/solver", {{"libmpich.so.12"}});
    EXPECT_EQ(files.linked({"/a/solver", "/b/solver", "/c/solver"}), Linked{});
}

TEST(LinkedWith, ALibraryNeedsIt) {
    Files files;
    files.add("/opt/bin/solver", {{"libgrid.so.3", "libc.so.6"}, "$ORIGIN/../lib"});
    files.add("/opt/bin/../lib/libgrid.so.3", {{"libmesh.so.1"}});
    files.add("/usr/lib/libmesh.so.1", {{"libmpich.so.12"}});
    EXPECT_EQ(files.linked({"/opt/bin/solver"}), (Linked{MpiFamily::pmi1, "libmpich.so.12"}));
}

TEST(LinkedWith, LibrariesAreSearchedAsByTheDynamicLinker) {
    Files files;
    files.add("/bin/solver", {{"libgrid.so.3"}, "/own"});
    files.add("/usr/lib/libgrid.so.3", {{"libmpich.so.12"}});
    EXPECT_EQ(files.linked({"/bin/solver"}).family, MpiFamily::pmi1);
    files.add("/user/libgrid.so.3", {{"libmpi.so.40"}});
    EXPECT_EQ(files.linked({"/bin/solver"}, "relative:/user").family, MpiFamily::pmix);
    files.add("/own/libgrid.so.3", {{"libc.so.6"}});
    EXPECT_EQ(files.linked({"/bin/solver"}, "/user").family, MpiFamily::pmix) << "before DT_RUNPATH";
    EXPECT_EQ(files.linked({"/bin/solver"}).family, MpiFamily::none);
    files.add("/bin/old", {{"libgrid.so.3"}, "", "/own"});
    EXPECT_EQ(files.linked({"/bin/old"}, "/user").family, MpiFamily::none) << "after DT_RPATH";
}

TEST(LinkedWith, RelativeFoldersAreBelowTheWorkingDirectory) {
    Files files;
    files.add("/bin/solver", {{"libgrid.so.3"}});
    files.add("/here/libs/libgrid.so.3", {{"libmpi.so.40"}});
    EXPECT_EQ(files.linked({"/bin/solver"}, "libs").family, MpiFamily::pmix);
    files.add("/here/libgrid.so.3", {{"libmpich.so.12"}});
    EXPECT_EQ(files.linked({"/bin/solver"}, "/none:").family, MpiFamily::pmi1) << "an empty one is that directory";
    files.add("/bin/own", {{"libgrid.so.3"}, "libs"});
    EXPECT_EQ(files.linked({"/bin/own"}).family, MpiFamily::pmix);
}

TEST(LinkedWith, ANameWithASlashIsAPath) {
    Files files;
    files.add("/bin/solver", {{"/opt/libgrid.so"}});
    files.add("/opt/libgrid.so", {{"sub/libmesh.so"}});
    files.add("/here/sub/libmesh.so", {{"libmpi.so.40"}});
    EXPECT_EQ(files.linked({"/bin/solver"}).family, MpiFamily::pmix);
}

TEST(LinkedWith, TheOlderSearchPathHoldsForLibrariesOfLibraries) {
    Files files;
    files.add("/bin/solver", {{"libgrid.so.3"}, "", "/opt"});
    files.add("/opt/libgrid.so.3", {{"libmesh.so.1"}});
    files.add("/opt/libmesh.so.1", {{"libmpich.so.12"}});
    EXPECT_EQ(files.linked({"/bin/solver"}).family, MpiFamily::pmi1);
    files.add("/bin/newer", {{"libgrid.so.3"}, "/opt"});
    EXPECT_EQ(files.linked({"/bin/newer"}).family, MpiFamily::none);
}

TEST(LinkedWith, LibrariesOfTheSystemAreNotOpened) {
    Files files;
    files.add("/bin/true", {{"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"}});
    files.add("/usr/lib/libc.so.6", {{"libmpi.so.40"}});
    EXPECT_EQ(files.linked({"/bin/true"}), Linked{});
}

TEST(LinkedWith, TheSearchIsBounded) {
    Files files;
    files.add("/bin/circle", {{"liba.so"}});
    files.add("/usr/lib/liba.so", {{"libb.so"}});
    files.add("/usr/lib/libb.so", {{"liba.so", "libb.so"}});
    EXPECT_EQ(files.linked({"/bin/circle"}), Linked{});
    EXPECT_EQ(files.opened.size(), 3U);
    for (int n = 0; n < 500; ++n) files.add("/usr/lib/chain" + std::to_string(n), {{"chain" + std::to_string(n + 1)}});
    files.add("/bin/chain", {{"chain0"}});
    EXPECT_EQ(files.linked({"/bin/chain"}), Linked{});
    EXPECT_LT(files.opened.size(), 100U);
}

TEST(LinkedWith, ScriptsAndMissingFilesHaveNone) {
    Files files;
    files.add_text("/bin/script", "#!/bin/sh\nexec ./solver\n");
    EXPECT_EQ(files.linked({"/bin/script"}), Linked{});
    EXPECT_EQ(files.linked({"/bin/absent"}), Linked{});
    EXPECT_EQ(files.linked({}), Linked{});
}

}  // namespace
}  // namespace dlaunch::launcher
