#include "agent/process/leftovers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/process/cgroup.hpp"
#include "agent/process/spawn.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;

class Temporary : public testing::Test {
protected:
    std::string make(const std::string& name, const std::vector<std::string>& files = {}) const {
        const std::string folder = path + "/" + name;
        fs::create_directories(folder);
        fs::permissions(folder, fs::perms::owner_all);
        for (const std::string& file : files) std::ofstream(folder + "/" + file) << "x";
        return folder;
    }
    void sweep(std::chrono::milliseconds age = 0ms) const { sweep_leftovers({"", path}, age, kPatience); }

    const TemporaryFolder temporary;
    const std::string path = temporary.path();
};

TEST_F(Temporary, folders_of_dead_runs_are_removed) {
    const auto errors = make("dlaunch_abcdef", {"error_0_1.json"}), socket = make("dlaunch-agent-AbC123", {"socket"});
    sweep();
    EXPECT_FALSE(fs::exists(errors));
    EXPECT_FALSE(fs::exists(socket));
}

TEST_F(Temporary, the_folder_of_a_running_job_stays) {
    const auto folder = make("dlaunch_abcdef", {"error_0_1.json"});
    {
        const base::UniqueFd held = hold_folder(folder);
        ASSERT_TRUE(held);
        EXPECT_FALSE(hold_folder(folder)) << "it has one owner";
        sweep();
        EXPECT_TRUE(fs::exists(folder + "/error_0_1.json"));
    }
    sweep();
    EXPECT_FALSE(fs::exists(folder));
}

TEST_F(Temporary, folders_of_mpi_ranks_and_collected_logs_are_removed_whatever_is_in_them) {
    const auto session = make("dlaunch-mpi-0123456789abcdef", {"contact.txt"}),
               running = make("dlaunch-mpi-00000000000000ff");
    const auto other = make("dlaunch-mpi-backup");
    make("dlaunch-mpi-0123456789abcdef/pmix");
    const auto logs = make("dlaunch-logs.AbC123", {"stdout.log"});
    const base::UniqueFd held = hold_folder(running);
    sweep();
    EXPECT_FALSE(fs::exists(session));
    EXPECT_FALSE(fs::exists(logs));
    EXPECT_TRUE(fs::exists(running));
    EXPECT_TRUE(fs::exists(other));
    const auto segments = make("memory/dlaunch-mpi-fedcba9876543210", {"vader_segment"});
    sweep_leftovers({"", "/no/such/folder", path + "/memory"}, 0ms, kPatience);
    EXPECT_FALSE(fs::exists(segments));
}

TEST_F(Temporary, a_young_folder_stays) {
    const auto folder = make("dlaunch_abcdef");
    sweep(10s);
    EXPECT_TRUE(fs::exists(folder)) << "its owner may be about to lock it";
}

TEST_F(Temporary, folders_with_other_names_files_or_modes_stay) {
    std::vector<std::string> all{make("dlaunch_backup", {"error_0_1.json", "thesis.txt"}), make("dlaunch_mine"),
                                 make("my_dlaunch_abcdef"), make("dlaunch_logsss")};
    make("dlaunch_logsss/job_x");
    all.push_back(make("dlaunch_opened"));
    fs::permissions(all.back(), fs::perms::owner_all | fs::perms::others_read);
    fs::create_directory_symlink(make("elsewhere"), path + "/dlaunch_linked");
    all.push_back(path + "/dlaunch_linked");
    sweep();
    for (const std::string& each : all) EXPECT_TRUE(fs::exists(each)) << each;
}

TEST_F(Temporary, the_sweep_ends_in_time) {
    const auto folder = make("dlaunch_abcdef");
    sweep_leftovers({path, path}, 0ms, 0ms);
    EXPECT_TRUE(fs::exists(folder));
    sweep_leftovers({"/no/such/folder", "/no/such/folder"}, 0ms, kPatience);
}

/// The pid of a process that has exited.
pid_t gone() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
}

std::string cgroup_name(pid_t agent) {
    return fmt::format("dlaunch-{}-{}", agent, std::chrono::steady_clock::now().time_since_epoch() / 1ns);
}

/// A run's cgroup with a worker, in a folder that no real run uses.
class LeftCgroup : public testing::Test {
protected:
    void SetUp() override {
        const std::string own = own_cgroup_folder();
        places_.cgroups = own + "/leftovers_test-" + std::to_string(getpid());
        if (own.empty() || mkdir(places_.cgroups.c_str(), 0755) != 0) GTEST_SKIP() << "no cgroup can be made here";
        folder_ = places_.cgroups + "/" + cgroup_name(gone());
        fs::create_directories(folder_ + "/0-0");
    }
    void TearDown() override {
        if (!folder_.empty()) kill_and_remove_cgroup(folder_, 5s);
        rmdir(places_.cgroups.c_str());
    }

    LeftoverPlaces places_{"", "/no/such/folder"};
    std::string folder_;
};

TEST_F(LeftCgroup, the_cgroup_of_a_dead_run_is_removed_with_its_processes) {
    SpawnRequest request;
    request.paths = {"/bin/sleep"};
    request.arguments = {"sleep", "600"};
    const base::UniqueFd cgroup(open((folder_ + "/0-0").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    request.cgroup = cgroup.get();
    Spawning spawning = std::move(std::get<Spawning>(Spawning::begin(std::move(request))));
    ASSERT_FALSE(spawning.finish());
    sweep_leftovers(places_, 0ms, kPatience);
    int status = 0;
    ASSERT_EQ(waitpid(spawning.pid(), &status, 0), spawning.pid());
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    sweep_leftovers(places_, 0ms, kPatience);  // a zombie keeps a cgroup for a moment
    EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(LeftCgroup, a_young_or_held_cgroup_stays) {
    sweep_leftovers(places_, 10s, kPatience);
    EXPECT_TRUE(fs::exists(folder_));
    const base::UniqueFd held = hold_folder(folder_);
    ASSERT_TRUE(held);
    sweep_leftovers(places_, 0ms, kPatience);
    EXPECT_TRUE(fs::exists(folder_));
}

TEST_F(LeftCgroup, a_cgroup_of_another_name_or_of_a_live_agent_stays) {
    const std::string ours = cgroup_name(getpid());
    for (const std::string name : {ours.c_str(), "dlaunch-1-x", "dlaunch", "dlaunch-", "dlaunch-1", "other-1-1"}) {
        const std::string other = places_.cgroups + "/" + name;
        fs::create_directory(other);
        sweep_leftovers(places_, 0ms, kPatience);
        EXPECT_TRUE(fs::exists(other)) << name;
        rmdir(other.c_str());
    }
}

}  // namespace
}  // namespace dlaunch::agent
