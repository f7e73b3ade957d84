#include "launcher/jobs/job_logs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

class JobLogsTest : public testing::Test {
protected:
    void worker(int attempt, int local_rank, int rank, const std::string& text) {
        const fs::path folder = run_ / ("attempt_" + std::to_string(attempt));
        fs::create_directories(folder / std::to_string(local_rank));
        fs::create_directories(folder / "by-rank");
        std::ofstream(folder / std::to_string(local_rank) / "stdout.log") << text;
        fs::create_directory_symlink("../" + std::to_string(local_rank),
                                     folder / "by-rank" / (std::to_string(rank) + "-host-1"));
    }

    static std::string all_of(GrowingFile& file) {
        std::string text;
        file.read([&](std::string_view bytes) { text += bytes; });
        return text;
    }

    const TemporaryFolder temporary_;
    const fs::path run_ = temporary_.path();
};

TEST_F(JobLogsTest, the_latest_attempt_counts_by_number) {
    worker(9, 0, 4, "old");
    worker(10, 0, 12, "twelve");
    worker(10, 1, 3, "three");
    const auto streams = latest_streams(run_, std::nullopt);
    ASSERT_EQ(streams.size(), 2u);
    EXPECT_EQ(streams[0].rank, 3);
    EXPECT_EQ(streams[1].rank, 12);
    EXPECT_FALSE(streams[0].is_error);
    EXPECT_EQ(latest_streams(run_, 12).size(), 1u);
    EXPECT_TRUE(latest_streams(run_, 4).empty());
    EXPECT_TRUE(latest_streams(run_ / "none", std::nullopt).empty());
}

TEST_F(JobLogsTest, a_file_grows) {
    const fs::path path = run_ / "stdout.log";
    GrowingFile file(path);
    EXPECT_EQ(all_of(file), "");
    std::ofstream(path) << "one\n";
    EXPECT_EQ(all_of(file), "one\n");
    EXPECT_EQ(all_of(file), "");
    std::ofstream(path, std::ios::app) << "two\n";
    EXPECT_EQ(all_of(file), "two\n");
}

TEST_F(JobLogsTest, a_rotation_loses_nothing) {
    const fs::path path = run_ / "stdout.log", older = run_ / "stdout.log.1";
    std::ofstream(older) << "zero\n";
    std::ofstream(path) << "one\n";
    GrowingFile file(path);
    EXPECT_EQ(all_of(file), "zero\none\n");
    std::ofstream(path, std::ios::app) << "two\n";
    fs::rename(path, older);
    std::ofstream(path) << "three\n";
    EXPECT_EQ(all_of(file), "two\nthree\n");
}

TEST(RankPrefix, stands_before_each_whole_line) {
    RankPrefix prefix(7);
    EXPECT_EQ(prefix.add("on"), "");
    EXPECT_EQ(prefix.add("e\n\ntwo\nthr"), "[7] one\n[7] \n[7] two\n");
    EXPECT_EQ(prefix.finish(), "[7] thr\n");
    EXPECT_EQ(prefix.finish(), "");
}

}  // namespace
}  // namespace dlaunch::launcher
