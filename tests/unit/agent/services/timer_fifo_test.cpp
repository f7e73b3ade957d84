#include "agent/services/timer_fifo.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dlaunch::agent {
namespace {

class TimerFifoTest : public testing::Test {
protected:
    TimerFifoTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dlaunch_test_XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~TimerFifoTest() override { std::filesystem::remove_all(folder_); }

    base::Result<std::unique_ptr<TimerFifo>> open(const std::string& path) {
        auto pipe = TimerPipe::make(path);
        if (!pipe) return pipe.error();
        return std::make_unique<TimerFifo>(
            loop_, std::move(*pipe), [this](pid_t pid, const std::string& scope, int signal) {
                told_.push_back(std::to_string(pid) + "/" + scope + "/" + std::to_string(signal));
                loop_.stop();
            });
    }

    [[nodiscard]] std::string path() const { return folder_ + "/timers"; }

    void write(pid_t pid, const std::string& scope, double expiration) const {
        const std::string line = R"({"version":1,"pid":)" + std::to_string(pid) + R"(,"scope_id":")" + scope +
                                 R"(","expiration_time":)" + std::to_string(expiration) + R"(,"signal":15})" + "\n";
        const base::UniqueFd fifo(::open(path().c_str(), O_WRONLY | O_NONBLOCK));
        ASSERT_EQ(::write(fifo.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }

    static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }

    base::Loop loop_;
    std::vector<std::string> told_;
    std::string folder_;
};

TEST_F(TimerFifoTest, TellsADeadlineThatPasses) {
    const auto fifo = open(path());
    ASSERT_TRUE(fifo);
    write(::getpid(), "released", now() + 0.01);
    write(::getpid(), "released", -1);
    write(::getpid(), "step", now() + 0.02);
    loop_.run();
    EXPECT_EQ(told_, std::vector<std::string>{std::to_string(::getpid()) + "/step/15"});
}

TEST_F(TimerFifoTest, TellsNothingOfTheDead) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto fifo = open(path());
    ASSERT_TRUE(fifo);
    write(child, "dead", now() - 10);
    write(::getpid(), "alive", now() + 0.02);
    loop_.run();
    EXPECT_EQ(told_, std::vector<std::string>{std::to_string(::getpid()) + "/alive/15"});
}

TEST_F(TimerFifoTest, MayBeDestroyedByItsCallback) {
    std::unique_ptr<TimerFifo> fifo;
    auto pipe = TimerPipe::make(path());
    ASSERT_TRUE(pipe);
    fifo = std::make_unique<TimerFifo>(loop_, std::move(*pipe), [&](pid_t, const std::string&, int) {
        fifo.reset();
        loop_.stop();
    });
    write(::getpid(), "step", now());
    loop_.run();
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TimerFifoTest, MakesAPrivateFifoAndRemovesIt) {
    {
        const auto fifo = open(path());
        ASSERT_TRUE(fifo);
        struct stat about {};
        ASSERT_EQ(::stat(path().c_str(), &about), 0);
        EXPECT_TRUE(S_ISFIFO(about.st_mode));
        EXPECT_EQ(about.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TimerFifoTest, ReplacesAFifoAndNothingElse) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0666), 0);
    EXPECT_TRUE(open(path()));
    std::ofstream(path()) << "precious";
    const auto refused = open(path());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "timer file " + path() + ": File exists");
    EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(TimerFifoTest, ChoosesANameOfItsOwn) {
    const auto one = open(""), two = open("");
    ASSERT_TRUE(one);
    ASSERT_TRUE(two);
    EXPECT_NE((*one)->path(), (*two)->path());
    EXPECT_NE((*one)->path().find("/watchdog_timer_"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch::agent
