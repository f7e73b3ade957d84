#include <cstring>

#include "tests/unit/agent/logs/logs_fixture.hpp"

namespace dlaunch::agent {
namespace {

/// A console that is a pipe, and a worker that writes as long as it can.
class LogsFlood : public LogsTest {
protected:
    LogsFlood() {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        reader_.reset(ends[0]);
        out_.reset(ends[1]);
        options_.stdout_fd = out_.get();
        options_.plan.tee.others = kStdout;
    }

    /// Writes lines until no byte has moved for many turns of the loop, then runs `stuck_`. Counts bytes in total_.
    void flood() {
        start(1);
        fcntl(ends_[0].out.get(), F_SETFL, O_NONBLOCK);
        when([this] { return write_all() == 0 ? ++idle_turns_ > 1000 : (idle_turns_ = 0, total_ > kTooMuch); },
             [this] { stuck_(); });
        loop_.run();
    }

    std::size_t write_all() {
        std::size_t here = 0;
        for (ssize_t count; (count = write(ends_[0].out.get(), "0123456\n", 8)) > 0;)
            here += static_cast<std::size_t>(count);
        total_ += here;
        return here;
    }

    static constexpr std::size_t kTooMuch = 64 << 20;
    base::UniqueFd reader_;
    std::size_t total_ = 0;
    int idle_turns_ = 0;
    std::function<void()> stuck_;
};

TEST_F(LogsFlood, a_paused_reader_costs_little_memory_and_then_receives_all_lines) {
    std::string seen;
    base::Watch reading;
    stuck_ = [&] {
        EXPECT_GT(total_, 400u << 10) << "a full queue holds so much, at 19 shown bytes for 8";
        EXPECT_LT(total_, 3u << 20) << "the queue and the pipes";
        std::vector<char> buffer(1 << 20);
        reading = loop_.readable(reader_.get(), [&seen, this, buffer = std::move(buffer)]() mutable {
            seen.append(buffer.data(), static_cast<std::size_t>(read(reader_.get(), buffer.data(), buffer.size())));
        });
        ends_.clear();
        begin_drain(seconds(50));
    };
    flood();
    EXPECT_EQ(dropped_, 0u);
    reading = {};
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    char last[65536];
    if (const ssize_t count = read(reader_.get(), last, sizeof last); count > 0)
        seen.append(last, static_cast<std::size_t>(count));
    EXPECT_EQ(seen.size(), total_ / 8 * std::strlen("[default0]:0123456\n"));
    EXPECT_EQ(fs::file_size(attempt(0) / "0/stdout.log"), total_);
}

TEST_F(LogsFlood, a_stuck_reader_is_given_up_and_the_files_have_all_lines) {
    stuck_ = [&] {
        ends_.clear();
        begin_drain(milliseconds(20));
    };
    flood();
    EXPECT_GT(dropped_, 1u << 20);
    EXPECT_EQ(fs::file_size(attempt(0) / "0/stdout.log"), total_);
}

TEST_F(LogsFlood, a_slow_reader_receives_all_lines) {
    constexpr auto kPatience = milliseconds(500);
    std::size_t seen = 0;
    base::Time began;
    base::Timer reading;
    // Reads the queue and the pipes in at least three times the patience.
    const std::function<void()> read_some = [&] {
        std::vector<char> buffer(128 << 10);
        seen += static_cast<std::size_t>(std::max<ssize_t>(read(reader_.get(), buffer.data(), buffer.size()), 0));
        reading = loop_.after(kPatience / 4, read_some);
    };
    stuck_ = [&] {
        fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
        began = base::Clock::now();
        ends_.clear();
        begin_drain(kPatience);
        read_some();
    };
    flood();
    EXPECT_EQ(dropped_, 0u);
    EXPECT_GT(base::Clock::now() - began, 2 * kPatience) << "else the reader was not slow";
    char last[65536];
    for (ssize_t count; (count = read(reader_.get(), last, sizeof last)) > 0;) seen += static_cast<std::size_t>(count);
    EXPECT_EQ(seen, total_ / 8 * std::strlen("[default0]:0123456\n"));
}

TEST_F(LogsFlood, a_closed_reader_stops_no_worker) {
    reader_.reset();
    int warnings = 0;
    start(1);
    logs_->on_warning([&] { ++warnings; });
    fcntl(ends_[0].out.get(), F_SETFL, O_NONBLOCK);
    when([this] { return write_all(), total_ > (8u << 20); },
         [&] {
             ends_.clear();
             begin_drain(seconds(50));
         });
    loop_.run();
    EXPECT_EQ(dropped_, 0u);
    EXPECT_EQ(fs::file_size(attempt(0) / "0/stdout.log"), total_);
    EXPECT_LE(warnings, 1);
    EXPECT_EQ(logs_->take_warnings().size(), static_cast<std::size_t>(warnings));
}

}  // namespace
}  // namespace dlaunch::agent
