#include "agent/process/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rendezvous/base/fd.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

TEST(SharedMemory, names_of_libraries_are_known) {
    for (const char* name : {"mpich_shar_tmp8Dclar", "ucx_shm_posix_bfbd33e", "vader_segment.node1.0.9f.1"})
        EXPECT_TRUE(is_mpi_segment(name)) << name;
    for (const char* name : {"", "sem.mpich_shar_tmp", "my_ucx_shm_posix_1", "torch_1"})
        EXPECT_FALSE(is_mpi_segment(name)) << name;
}

TEST(SharedMemory, unused_segments_go_and_others_stay) {
    const TemporaryFolder folder;
    const auto path = [&](const char* name) { return folder.path() + "/" + name; };
    for (const char* name : {"mpich_shar_tmpA", "mpich_shar_tmpB", "ucx_shm_posix_1", "mine"})
        std::ofstream(path(name)) << "bytes";
    base::UniqueFd open_file(open(path("mpich_shar_tmpB").c_str(), O_RDWR | O_CLOEXEC));
    base::UniqueFd mapped_file(open(path("ucx_shm_posix_1").c_str(), O_RDWR | O_CLOEXEC));
    void* const mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped_file.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    mapped_file.reset();
    EXPECT_EQ(remove_unused_segments(folder.path().c_str()), 1);
    EXPECT_FALSE(std::filesystem::exists(path("mpich_shar_tmpA")));
    for (const char* name : {"mpich_shar_tmpB", "ucx_shm_posix_1", "mine"})
        EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
    munmap(mapped, 4096);
    open_file.reset();
    EXPECT_EQ(remove_unused_segments(folder.path().c_str()), 2);
    EXPECT_EQ(remove_unused_segments(path("none").c_str()), 0);
}

}  // namespace
}  // namespace dlaunch::agent
