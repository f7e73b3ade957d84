#include "agent/services/timer_service.hpp"

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

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/agent/services/socket_fixture.hpp"

namespace dlaunch::agent {
namespace {

class TimerServiceTest : public AgentSocketTest {
protected:
    base::Result<std::unique_ptr<TimerService>> open(const std::string& path) {
        auto made = TimerFifo::make(path, "/tmp");
        if (!made) return made.error();
        return std::make_unique<TimerService>(
            loop_, socket_, std::make_shared<TimerFifo>(std::move(*made)),
            [this](pid_t pid, const std::string& scope, int signal) {
                due_.push_back(std::to_string(pid) + "/" + scope + "/" + std::to_string(signal));
                loop_.stop();
            });
    }

    [[nodiscard]] std::string path() const { return folder_ + "/timers"; }

    static std::string request(pid_t pid, const std::string& scope, double expiration) {
        return R"({"version":1,"pid":)" + std::to_string(pid) + R"(,"scope_id":")" + scope + R"(","expiration_time":)" +
               std::to_string(expiration) + R"(,"signal":15})" + "\n";
    }

    void write(pid_t pid, const std::string& scope, double expiration) const {
        const std::string line = request(pid, scope, expiration);
        const base::UniqueFd service(::open(path().c_str(), O_WRONLY | O_NONBLOCK));
        ASSERT_EQ(::write(service.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }

    static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }

    std::vector<std::string> due_;
    const TemporaryFolder temporary_;
    const std::string folder_ = temporary_.path();
};

TEST_F(TimerServiceTest, ReportsADeadlineWhenItPasses) {
    const auto service = open(path());
    ASSERT_TRUE(service);
    write(::getpid(), "released", now() + 0.01);
    write(::getpid(), "released", -1);
    write(::getpid(), "step", now() + 0.02);
    loop_.run();
    EXPECT_EQ(due_, std::vector<std::string>{std::to_string(::getpid()) + "/step/15"});
}

TEST_F(TimerServiceTest, TakesDeadlinesFromTheAgentsSocket) {
    const TimerService service(loop_, socket_, std::make_shared<TimerFifo>(),
                               [this](pid_t, const std::string& scope, int) {
                                   due_.push_back(scope);
                                   loop_.stop();
                               });
    const base::UniqueFd early = connect(), late = connect();
    send(early, "timers\n" + request(::getpid(), "with the request", now() + 600) + R"({"version":1,)");
    send(late, "timers\n");
    turn();
    send(late, request(::getpid(), "with the request", -1) + request(::getpid(), "step", now() + 0.02));
    send(early, "\n");
    loop_.run();
    EXPECT_EQ(due_, std::vector<std::string>{"step"});
}

TEST_F(TimerServiceTest, KeepsADeadlineWhenItsWriterHasClosedTheConnection) {
    const TimerService service(loop_, socket_, std::make_shared<TimerFifo>(),
                               [this](pid_t, const std::string& scope, int) {
                                   due_.push_back(scope);
                                   loop_.stop();
                               });
    send(connect(), "timers\n" + request(::getpid(), "step", now() + 0.05));
    loop_.run();
    EXPECT_EQ(due_, std::vector<std::string>{"step"});
}

TEST_F(TimerServiceTest, IgnoresDeadlinesOfDeadProcesses) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto service = open(path());
    ASSERT_TRUE(service);
    write(child, "dead", now() - 10);
    write(::getpid(), "alive", now() + 0.02);
    loop_.run();
    EXPECT_EQ(due_, std::vector<std::string>{std::to_string(::getpid()) + "/alive/15"});
}

TEST_F(TimerServiceTest, MayBeDestroyedByItsCallback) {
    std::unique_ptr<TimerService> service;
    auto made = TimerFifo::make(path(), "/tmp");
    ASSERT_TRUE(made);
    service = std::make_unique<TimerService>(loop_, socket_, std::make_shared<TimerFifo>(std::move(*made)),
                                             [&](pid_t, const std::string&, int) {
                                                 service.reset();
                                                 loop_.stop();
                                             });
    write(::getpid(), "step", now());
    loop_.run();
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TimerServiceTest, MakesAPrivateFifoAndRemovesIt) {
    {
        const auto service = open(path());
        ASSERT_TRUE(service);
        struct stat about {};
        ASSERT_EQ(::stat(path().c_str(), &about), 0);
        EXPECT_TRUE(S_ISFIFO(about.st_mode));
        EXPECT_EQ(about.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TimerServiceTest, ReplacesAFifoAndNothingElse) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0666), 0);
    EXPECT_TRUE(open(path()));
    std::ofstream(path()) << "precious";
    const auto refused = open(path());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "timer file " + path() + ": File exists");
    EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(TimerServiceTest, ChoosesANameOfItsOwn) {
    const auto one = TimerFifo::make("", "/tmp"), two = TimerFifo::make("", "/tmp");
    ASSERT_TRUE(one);
    ASSERT_TRUE(two);
    EXPECT_NE(one->path(), two->path());
    EXPECT_NE(one->path().find("/watchdog_timer_"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch::agent
