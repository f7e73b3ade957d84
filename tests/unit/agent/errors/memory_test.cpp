#include "agent/errors/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

/// A fake root: /proc/self/cgroup, /proc/self/mountinfo and cgroup folders.
class OomCounterTest : public testing::Test {
protected:
    void file(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }

    void version2(const std::string& path, const std::string& mounted = "/") const {
        file("/proc/self/cgroup", "0::" + path + "\n");
        file("/proc/self/mountinfo", "23 1 0:5 / / rw - ext4 /dev/root rw\n31 23 0:28 " + mounted +
                                         " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    }

    void version1(const std::string& path, const std::string& mounted = "/") const {
        file("/proc/self/cgroup", "9:cpu,cpuacct:/other\n4:hugetlb,memory:" + path + "\n0::/unified\n");
        file("/proc/self/mountinfo", "34 31 0:31 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 " + mounted +
                                         " /cg/my\\040memory rw - cgroup cgroup rw,hugetlb,memory\n"
                                         "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    }

    [[nodiscard]] OomCounter counter() const { return OomCounter::of_this_process(root_); }
    const TemporaryFolder temporary_;
    const std::string root_ = temporary_.path();
};

TEST_F(OomCounterTest, ReadsVersion2) {
    version2("/user/job");
    file("/sys/fs/cgroup/user/job/memory.events", "low 0\nhigh 0\nmax 17\noom 2\noom_kill 3\noom_group_kill 1\n");
    EXPECT_EQ(counter().read(), 3);
}

TEST_F(OomCounterTest, ReadsVersion1BeforeAnEmptyVersion2) {
    version1("/job");
    file("/cg/my memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    file("/cg/unified/unified/memory.events", "oom_kill 9\n");
    EXPECT_EQ(counter().read(), 4);
}

TEST_F(OomCounterTest, SeesTheCounterRise) {
    version2("/job");
    file("/sys/fs/cgroup/job/memory.events", "oom_kill 0\n");
    const OomCounter found = counter();
    EXPECT_EQ(found.read(), 0);
    file("/sys/fs/cgroup/job/memory.events", "oom_kill 1\n");
    EXPECT_EQ(found.read(), 1);
}

TEST_F(OomCounterTest, WalksToTheNearestOneAbove) {
    version2("/a/b/c");
    file("/sys/fs/cgroup/a/memory.events", "oom_kill 5\n");
    file("/sys/fs/cgroup/a/b/c/cgroup.procs", "");
    EXPECT_EQ(counter().read(), 5);
}

TEST_F(OomCounterTest, StopsAtTheMountPoint) {
    version2("/a");
    file("/sys/fs/memory.events", "oom_kill 5\n");
    EXPECT_EQ(counter().read(), -1);
}

TEST_F(OomCounterTest, FindsTheCgroupOfAContainer) {
    version2("/docker/0123/job", "/docker/0123");
    file("/sys/fs/cgroup/job/memory.events", "oom_kill 6\n");
    EXPECT_EQ(counter().read(), 6);
    version2("/docker/0123", "/docker/0123");
    file("/sys/fs/cgroup/memory.events", "oom_kill 7\n");
    EXPECT_EQ(counter().read(), 7);
    version2("/../elsewhere");
    EXPECT_EQ(counter().read(), 7);
}

TEST_F(OomCounterTest, FallsBackToTheMachines) {
    version2("/");
    file("/proc/vmstat", "nr_free_pages 1\noom_kill 8\nnumber 2\n");
    EXPECT_EQ(counter().read(), 8);
    EXPECT_EQ(counter().limit(), "");
    std::filesystem::remove_all(root_ + "/proc/self");
    EXPECT_EQ(counter().read(), 8);
}

TEST_F(OomCounterTest, IsUnknownWhereThereIsNothing) {
    EXPECT_EQ(counter().read(), -1);
    EXPECT_EQ(counter().limit(), "");
    EXPECT_EQ(OomCounter().read(), -1);
    EXPECT_EQ(OomCounter::of_folder(root_).read(), -1);
    version2("/job");
    file("/sys/fs/cgroup/job/memory.events", "garbage\noom_kill x\n\noom_killer 3\n");
    file("/proc/self/mountinfo", "x\n - \n1 2 3 - cgroup2\n");
    EXPECT_EQ(counter().read(), -1);
}

TEST_F(OomCounterTest, TakesAWorkersOwnFolderAndNoOther) {
    file("/job/memory.events", "oom_kill 1\n");
    file("/job/0/cgroup.procs", "");
    EXPECT_EQ(OomCounter::of_folder(root_ + "/job").read(), 1);
    EXPECT_EQ(OomCounter::of_folder(root_ + "/job/0").read(), -1);
}

TEST_F(OomCounterTest, NamesTheLeastLimit) {
    version2("/a/b");
    file("/sys/fs/cgroup/a/memory.events", "oom_kill 0\n");
    file("/sys/fs/cgroup/a/memory.max", "943718400\n");
    file("/sys/fs/cgroup/a/b/memory.events", "oom_kill 0\n");
    file("/sys/fs/cgroup/a/b/memory.max", "max\n");
    EXPECT_EQ(counter().limit(), "900 MiB");
    file("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
    EXPECT_EQ(counter().limit(), "512 MiB");
}

TEST_F(OomCounterTest, ReadsVersion1sNumberForUnlimited) {
    version1("/");
    file("/cg/my memory/memory.oom_control", "oom_kill 0\n");
    file("/cg/my memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(counter().limit(), "");
    file("/cg/my memory/memory.limit_in_bytes", "2147483648\n");
    EXPECT_EQ(counter().limit(), "2 GiB");
}

TEST(OomCounterOfThisMachine, IsKnown) { EXPECT_GE(OomCounter::of_this_process().read(), 0); }

TEST(JudgeOutOfMemory, TrustsTheWorkersOwnCounter) {
    EXPECT_EQ(judge_out_of_memory({0, 5}, {1, 6}), OutOfMemory::certain);
    EXPECT_EQ(judge_out_of_memory({0, 5}, {0, 6}), OutOfMemory::no) << "another process of the cgroup above was killed";
    EXPECT_EQ(judge_out_of_memory({2, 5}, {2, 5}), OutOfMemory::no);
}

TEST(JudgeOutOfMemory, CallsTheCounterAboveLikely) {
    EXPECT_EQ(judge_out_of_memory({-1, 5}, {-1, 6}), OutOfMemory::likely);
    EXPECT_EQ(judge_out_of_memory({-1, 5}, {-1, 5}), OutOfMemory::no);
    EXPECT_EQ(judge_out_of_memory({-1, -1}, {-1, 6}), OutOfMemory::no);
    EXPECT_EQ(judge_out_of_memory({}, {}), OutOfMemory::no);
    EXPECT_EQ(judge_out_of_memory({3, 5}, {-1, 6}), OutOfMemory::likely) << "its cgroup is removed already";
}

}  // namespace
}  // namespace dlaunch::agent
