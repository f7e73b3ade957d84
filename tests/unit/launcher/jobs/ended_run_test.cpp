#include "launcher/jobs/ended_run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "agent/process/leftovers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

class FindRunTest : public testing::Test {
protected:
    std::string make(const std::string& name, int age_in_hours = 0) {
        const fs::path run = folder_ / name;
        fs::create_directories(run / "attempt_0");
        fs::last_write_time(run, fs::file_time_type::clock::now() - std::chrono::hours(age_in_hours));
        return fs::canonical(run).string();
    }
    [[nodiscard]] std::string found(const std::optional<std::string>& name) const {
        return find_run(name, folder_.string()).value_or("");
    }

    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
};

TEST_F(FindRunTest, WithoutANameTakesTheNewestThatHasEnded) {
    EXPECT_EQ(found(std::nullopt), "");
    make("dlaunch-20261122-191548-a-abcdefg1", 3);
    const std::string newer = make("dlaunch-20261122-191548-b-abcdefg2", 2);
    const std::string running = make("dlaunch-20261122-191548-c-abcdefg3", 1);
    make("other");
    const auto lock = agent::hold_folder(running);
    EXPECT_EQ(found(std::nullopt), newer);
    EXPECT_EQ(found("latest"), newer);
}

TEST_F(FindRunTest, TakesTheNameOrThePathOfARun) {
    const std::string name = "dlaunch-20261122-191548-a-abcdefg1", run = make(name),
                      below = make("logs/night_abcdefgh");
    EXPECT_EQ(found(name), run);
    EXPECT_EQ(found(run), run);
    EXPECT_EQ(found(below), below);
    EXPECT_EQ(found(folder_ / "logs"), "");
    fs::create_symlink("night_abcdefgh", folder_ / "logs/latest");
    EXPECT_EQ(found(folder_ / "logs"), below);
    EXPECT_EQ(found(folder_ / "logs/latest"), below);
}

TEST_F(FindRunTest, TakesTheProgramOrTheJobIdOfOneRun) {
    const std::string run = make("dlaunch-20261122-191548-my-train.py-abcdefg1"),
                      night = make("logs/my_night_abcdefgh");
    EXPECT_EQ(found("my-train.py"), run);
    EXPECT_EQ(found(folder_ / "logs/my_night"), night);
    for (const char* name : {"train.py", "my", "my_night", "night"}) EXPECT_EQ(found(name), "") << name;
    EXPECT_EQ(found(folder_ / "my-train.py"), "");
    make("dlaunch-20261122-191549-my-train.py-abcdefg2");
    make("logs/my_night_abcdefgi");
    EXPECT_EQ(found("my-train.py"), "") << "of two runs";
    EXPECT_EQ(found(folder_ / "logs/my_night"), "") << "of two runs";
}

TEST_F(FindRunTest, TakesNoOtherFolder) {
    fs::create_directories(folder_ / "dlaunch-20261122-191548-a-abcdefg1/other");
    for (const char* name : {"dlaunch-20261122-191548-a-abcdefg1", "night", "..", "", "/"}) EXPECT_EQ(found(name), "");
}

}  // namespace
}  // namespace dlaunch::launcher
