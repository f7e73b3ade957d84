#include "agent/process/cgroup.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/process/spawn.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Spawning sleeper(int cgroup) {
    SpawnRequest request;
    request.paths = {"/bin/sleep"};
    request.arguments = {"sleep", "600"};
    request.cgroup = cgroup;
    return std::move(std::get<Spawning>(Spawning::begin(std::move(request))));
}

int end_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

class Cgroups : public testing::Test {
protected:
    void SetUp() override {
        groups_.make();
        groups_.finish_making();
        if (groups_.folder().empty()) GTEST_SKIP() << "no cgroup v2 folder can be made here";
    }
    void TearDown() override { groups_.remove(); }

    WorkerCgroups groups_;
};

TEST_F(Cgroups, cgroups_of_a_nested_dlaunch_are_removed) {
    const base::UniqueFd worker = groups_.open_worker(0, 0);
    const std::string nested = groups_.folder() + "/0-0/dlaunch-1-1";
    ASSERT_EQ(mkdir(nested.c_str(), 0755), 0);
    ASSERT_EQ(mkdir((nested + "/0-0").c_str(), 0755), 0);
    groups_.end_round();
    EXPECT_NE(access((groups_.folder() + "/0-0").c_str(), F_OK), 0);
}

TEST_F(Cgroups, a_worker_is_born_inside_and_killed_with_it) {
    Spawning spawning = sleeper(groups_.open_worker(0, 3).get());
    ASSERT_FALSE(spawning.finish());
    EXPECT_TRUE(spawning.in_cgroup());
    std::ifstream file(groups_.folder() + "/0-3/cgroup.procs");
    pid_t inside = 0;
    file >> inside;
    EXPECT_EQ(inside, spawning.pid());
    groups_.kill_all();
    EXPECT_EQ(end_of(spawning.pid()), SIGKILL);
}

TEST_F(Cgroups, a_later_round_survives_the_kill_of_an_earlier_one) {
    Spawning first = sleeper(groups_.open_worker(0, 0).get());
    groups_.kill_all();
    EXPECT_EQ(end_of(first.pid()), SIGKILL);
    groups_.end_round();
    Spawning second = sleeper(groups_.open_worker(1, 0).get());
    ASSERT_FALSE(second.finish());
    EXPECT_EQ(waitpid(second.pid(), nullptr, WNOHANG), 0) << "it was killed at birth";
    kill(second.pid(), SIGKILL);
    end_of(second.pid());
}

TEST_F(Cgroups, kill_and_remove_ends_the_processes_and_the_folder) {
    Spawning spawning = sleeper(groups_.open_worker(0, 0).get());
    kill_and_remove_cgroup(groups_.folder(), 5000ms);
    EXPECT_EQ(end_of(spawning.pid()), SIGKILL);
    EXPECT_FALSE(fs::exists(groups_.folder()));
    kill_and_remove_cgroup(groups_.folder(), 5000ms);  // a second call has no effect
    kill_and_remove_cgroup("", 0ms);
}

TEST(CgroupsRefused, leave_the_sweep_alone) {
    WorkerCgroups groups(false);
    groups.make();
    EXPECT_TRUE(groups.folder().empty());
    EXPECT_FALSE(groups.open_worker(0, 0));
    groups.kill_all();
    groups.end_round();
    groups.remove();
}

}  // namespace
}  // namespace dlaunch::agent
