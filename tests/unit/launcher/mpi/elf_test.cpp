#include "launcher/mpi/elf.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/launcher/mpi/elf_image.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

std::optional<ElfNeeds> needs_of(const std::string& bytes) { return read_needs(file_of(bytes).get()); }

TEST(ReadNeeds, ReadsLibrariesAndTheirFolders) {
    const auto needs = needs_of(elf_image({{"libmpi.so.40", "libc.so.6"}, "/opt/mpi/lib:$ORIGIN/../lib"}));
    ASSERT_TRUE(needs);
    EXPECT_EQ(needs->libraries, (Words{"libmpi.so.40", "libc.so.6"}));
    EXPECT_EQ(needs->search_path, "/opt/mpi/lib:$ORIGIN/../lib");
}

TEST(ReadNeeds, ALibraryHasAName) {
    EXPECT_EQ(needs_of(elf_image({{"libc.so.6"}, "", "", "libmpi.so.40"}))->name, "libmpi.so.40");
    EXPECT_EQ(needs_of(elf_image({{"libc.so.6"}}))->name, "");
}

TEST(ReadNeeds, TheNewerPathTakesPrecedence) {
    EXPECT_EQ(needs_of(elf_image({{}, "/new", "/old"}))->search_path, "/new");
    EXPECT_EQ(needs_of(elf_image({{}, "", "/old"}))->search_path, "/old");
}

TEST(ReadNeeds, OtherFilesHaveNone) {
    EXPECT_FALSE(needs_of(""));
    EXPECT_FALSE(needs_of("#!/bin/sh\nexit 0\n" + std::string(100, ' ')));
    std::string other_order = elf_image({{"libmpi.so.40"}});
    other_order[EI_DATA] = ELFDATA2MSB;
    EXPECT_FALSE(needs_of(other_order));
}

TEST(ReadNeeds, ADamagedFileIsNoProgram) {
    const std::string image = elf_image({{"libmpi.so.40"}, "/lib"});
    for (std::size_t bytes = 0; bytes < image.size(); ++bytes) EXPECT_FALSE(needs_of(image.substr(0, bytes))) << bytes;
    for (std::size_t at = 0; at < image.size(); ++at)  // no crash, whatever is read
        for (const char wrong : {'\0', '\x7f', '\xff'}) {
            std::string damaged = image;
            damaged[at] = wrong;
            const auto needs = needs_of(damaged);
            EXPECT_TRUE(!needs || needs->libraries.size() <= 2) << at;
        }
}

TEST(ReadNeeds, ReadsThisProgram) {
    const base::UniqueFd self(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const auto needs = read_needs(self.get());
    ASSERT_TRUE(needs);
    EXPECT_NE(std::ranges::find(needs->libraries, "libc.so.6"), needs->libraries.end());
}

}  // namespace
}  // namespace dlaunch::launcher
