#include "rendezvous/store/server/kept_bytes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::store {
namespace {

constexpr std::size_t kMiB = 1 << 20;

class KeptBytes : public testing::Test {
protected:
    void file(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    void machine(std::size_t mib) {
        file("/proc/meminfo", "MemTotal:       " + std::to_string(mib << 10) + " kB\nMemFree:        1 kB\n");
    }

    const TemporaryFolder temporary_;
    const std::string root_ = temporary_.path();
};

TEST_F(KeptBytes, are_a_part_of_the_machines_memory_within_bounds) {
    EXPECT_EQ(usual_kept_bytes(root_), 1024 * kMiB);
    machine(64 << 10);
    EXPECT_EQ(usual_kept_bytes(root_), 1024 * kMiB);
    machine(4 << 10);
    EXPECT_EQ(usual_kept_bytes(root_), 512 * kMiB);
    machine(16);
    EXPECT_EQ(usual_kept_bytes(root_), 32 * kMiB);
}

TEST_F(KeptBytes, are_a_part_of_the_lowest_limit_of_the_cgroups) {
    machine(64 << 10);
    file("/proc/self/cgroup", "0::/job/step\n");
    file("/sys/fs/cgroup/job/step/memory.max", "max\n");
    EXPECT_EQ(usual_kept_bytes(root_), 1024 * kMiB);
    file("/sys/fs/cgroup/job/memory.max", "4294967296\n");
    EXPECT_EQ(usual_kept_bytes(root_), 512 * kMiB);
    file("/sys/fs/cgroup/memory.max", "2147483648\n");  // a container's own
    EXPECT_EQ(usual_kept_bytes(root_), 256 * kMiB);
}

TEST_F(KeptBytes, know_version_1) {
    machine(64 << 10);
    file("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/job\n0::/\n");
    file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(usual_kept_bytes(root_), 1024 * kMiB);
    file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4294967296\n");
    EXPECT_EQ(usual_kept_bytes(root_), 512 * kMiB);
}

}  // namespace
}  // namespace dlaunch::store
