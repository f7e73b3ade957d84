#include "agent/logs/old_runs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/process/leftovers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

TEST(OldestRuns, the_newest_stay) {
    const std::vector<PastRun> runs{{"c", 30}, {"a", 10}, {"d", 40}, {"b", 20}};
    EXPECT_EQ(oldest_runs(runs, 2), (Names{"a", "b"}));
    EXPECT_EQ(oldest_runs(runs, 4), Names{});
    EXPECT_EQ(oldest_runs(runs, 9), Names{});
    EXPECT_EQ(oldest_runs({}, 1), Names{});
}

TEST(OldestRuns, only_names_of_runs_count) {
    EXPECT_TRUE(is_run_below_log_dir("night7_abcdefg5"));
    for (const char* name : {"_abcdefg5", "night7", "night7-abcdefgh", "night7_abcdefgH", "night7_abcdefg6", "latest"})
        EXPECT_FALSE(is_run_below_log_dir(name)) << name;
    EXPECT_TRUE(is_run_in_tmpdir("dlaunch-20261122-191548-train.py-abcdefg5"));
    for (const char* name : {"dlaunch-agent-abcdefgh", "dlaunch_abcdef", "train.py-abcdefgh", "dlaunch-2"})
        EXPECT_FALSE(is_run_in_tmpdir(name)) << name;
}

class OldRunsTest : public testing::Test {
protected:
    fs::path make(const std::string& name, int age, const std::string& entry = "attempt_0") {
        const fs::path run = folder_ / name;
        fs::create_directories(entry.empty() ? run : run / entry / "0");
        fs::last_write_time(run, fs::file_time_type::clock::now() - std::chrono::hours(age));
        return run;
    }

    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
};

TEST_F(OldRunsTest, the_oldest_are_removed_whole) {
    const auto oldest = make("job_aaaaaaaa", 3), middle = make("job_bbbbbbbb", 2), newest = make("job_cccccccc", 1);
    std::ofstream(oldest / "attempt_0/0/stdout.log") << "x";
    remove_old_runs(folder_, 2, is_run_below_log_dir);
    EXPECT_FALSE(fs::exists(oldest));
    EXPECT_TRUE(fs::exists(middle));
    EXPECT_TRUE(fs::exists(newest));
}

TEST_F(OldRunsTest, a_running_job_stays_and_counts) {
    const auto running = make("job_aaaaaaaa", 3), older = make("job_bbbbbbbb", 2), newest = make("job_cccccccc", 1);
    const auto lock = hold_folder(running);
    remove_old_runs(folder_, 1, is_run_below_log_dir);
    EXPECT_TRUE(fs::exists(running));
    EXPECT_FALSE(fs::exists(older));
    EXPECT_TRUE(fs::exists(newest));
}

TEST_F(OldRunsTest, the_runs_of_several_hosts_count) {
    const auto oldest = make("job_aaaaaaaa", 3, "host/attempt_0"), mixed = make("job_bbbbbbbb", 2, "host/attempt_0");
    std::ofstream(mixed / "remark.txt") << "the good one";
    const auto newest = make("job_cccccccc", 1, "host/attempt_0");
    remove_old_runs(folder_, 1, is_run_below_log_dir);
    EXPECT_FALSE(fs::exists(oldest));
    EXPECT_TRUE(fs::exists(mixed));
    EXPECT_TRUE(fs::exists(newest));
}

TEST_F(OldRunsTest, whatever_is_not_a_run_stays) {
    make("job_zzzzzzzz", 0);
    std::vector<fs::path> others{make("results", 9), make("job_aaaaaaaa", 9, "notes"), make("job_bbbbbbbb", 9, "")};
    others.push_back(make("job_cccccccc", 9));
    std::ofstream(others.back() / "remark.txt") << "the good one";
    fs::create_directory_symlink(make("elsewhere", 9), folder_ / "job_dddddddd");
    others.push_back(folder_ / "job_dddddddd/attempt_0");
    remove_old_runs(folder_, 1, is_run_below_log_dir);
    for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

}  // namespace
}  // namespace dlaunch::agent
