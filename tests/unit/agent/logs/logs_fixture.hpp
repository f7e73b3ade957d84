#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/logs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

inline void put(const base::UniqueFd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(fd.get(), bytes.data(), bytes.size());
        if (written <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

inline Texts lines_of(const std::string& text) {
    Texts lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// Logs between real pipes and two files that stand for the console.
class LogsTest : public testing::Test {
protected:
    LogsTest() {
        signal(SIGPIPE, SIG_IGN);
        out_ = open_file("console_out");
        err_ = open_file("console_err");
        options_.plan.directory = folder_ / "logs";
        options_.job_id = "job";
        options_.roles.assign(8, "default");
        options_.host = "node2";
        options_.workers = 2;
        options_.stdout_fd = out_.get();
        options_.stderr_fd = err_.get();
    }
    ~LogsTest() override { logs_.reset(); }

    base::UniqueFd open_file(const char* name) const {
        return base::UniqueFd(open((folder_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }

    /// Makes a worker's folder and pipes, and returns its ends.
    OutputEnds add(const LogSource& source) {
        logs_->make_folders({source});
        auto pipes = make_worker_pipes();
        EXPECT_TRUE(pipes) << pipes.error().text;
        logs_->add_worker(source, std::move(pipes->readers));
        return std::move(pipes->writers);
    }

    /// Starts so many workers; their ends are in ends_.
    void start(int workers, int round = 0) {
        if (!logs_) {
            logs_ = std::make_unique<Logs>(loop_, options_);
            ASSERT_TRUE(logs_->prepare());
        }
        ends_.clear();
        for (int i = 0; i < workers; ++i) {
            ends_.push_back(add({kFirstRank + i, i, 0, round}));
        }
    }

    /// Closes the workers' ends and serves until all is shown. Once in a test: a loop runs once.
    std::uint64_t drain(milliseconds deadline = seconds(50)) {
        ends_.clear();
        begin_drain(deadline);
        loop_.run();
        return dropped_;
    }

    void begin_drain(milliseconds deadline) {
        logs_->drain(deadline, [this](std::uint64_t bytes) {
            dropped_ = bytes;
            loop_.stop();
        });
    }

    [[nodiscard]] std::string file_of(const LogSource& source, Stream stream) const {
        return logs_->paths().file_of(options_.plan, source, stream);
    }

    /// Calls `action` when the condition has come true.
    void when(std::function<bool()> condition, std::function<void()> action) {
        if (condition()) return action();
        loop_.post([this, condition, action] { when(condition, action); });
    }

    std::string text(const fs::path& path) const {
        std::ostringstream all;
        all << std::ifstream(path).rdbuf();
        return all.str();
    }
    std::string console_out() const { return text(folder_ / "console_out"); }
    std::string console_err() const { return text(folder_ / "console_err"); }
    fs::path attempt(int number) const {
        return fs::path(logs_->paths().folder()) / ("attempt_" + std::to_string(number));
    }

    static constexpr int kFirstRank = 4;
    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
    base::UniqueFd out_, err_;
    base::Loop loop_;
    Logs::Options options_;
    std::unique_ptr<Logs> logs_;
    std::vector<OutputEnds> ends_;
    std::uint64_t dropped_ = 0;
};

}  // namespace dlaunch::agent
