#include "agent/logs/logs.hpp"

#include <poll.h>
#include <pty.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "tests/unit/agent/logs/logs_fixture.hpp"

namespace dlaunch::agent {
namespace {

TEST_F(LogsTest, plain_streams_go_to_the_console_as_they_are) {
    start(2);
    put(ends_[0].out, "out 0\n");
    put(ends_[1].err, "err 1");
    EXPECT_EQ(drain(), 0u);
    EXPECT_EQ(console_out(), "out 0\n");
    EXPECT_EQ(console_err(), "err 1\n");
    EXPECT_EQ(file_of({kFirstRank, 0, 0, 0}, kStdout), "");
}

TEST_F(LogsTest, tee_wins_over_redirect_and_both_write_files) {
    options_.plan.tee.by_rank = {{0, kStdout}};
    options_.plan.redirects.others = kStdout | kStderr;
    start(2);
    for (int i : {0, 1}) {
        put(ends_[static_cast<std::size_t>(i)].out, "out\nhalf");
        put(ends_[static_cast<std::size_t>(i)].err, "err\n");
    }
    drain();
    EXPECT_EQ(console_out(), "[default0]:out\n[default0]:half\n");
    EXPECT_EQ(console_err(), "");
    for (const char* rank : {"0", "1"}) {
        EXPECT_EQ(text(attempt(0) / rank / "stdout.log"), "out\nhalf");
        EXPECT_EQ(text(attempt(0) / rank / "stderr.log"), "err\n");
    }
    EXPECT_EQ(file_of({kFirstRank + 1, 1, 0, 0}, kStderr), (attempt(0) / "1/stderr.log").string());
    EXPECT_EQ(fs::canonical(attempt(0) / "by-rank/5-node2"), fs::canonical(attempt(0) / "1"));
}

TEST_F(LogsTest, files_exist_before_the_first_byte) {
    options_.plan.tee.others = kStdout;
    start(1);
    EXPECT_TRUE(fs::exists(attempt(0) / "0/stdout.log"));
    EXPECT_FALSE(fs::exists(attempt(0) / "0/stderr.log"));
    drain();
}

TEST_F(LogsTest, a_template_writes_where_the_lowest_rank_shown_does) {
    options_.plan.tee.by_rank = {{1, kStdout | kStderr}};
    options_.plan.shown = std::set<int>{1};
    start(2);
    auto ends = add({kFirstRank, LogSource::kTemplate, 0, 0});
    put(ends.out, "out\n");
    put(ends.err, "err\n");
    put(ends_[1].out, "mine\n");
    when([&] { return !logs_->stderr_tail(LogSource::kTemplate).empty(); },
         [&] {
             ends_.clear();
             begin_drain(seconds(50));  // the template still runs: the drain does not wait for its pipes
         });
    loop_.run();
    Texts shown = lines_of(console_out());
    std::sort(shown.begin(), shown.end());
    EXPECT_EQ(shown, (Texts{"[default1]:mine", "[template]:out"}));
    EXPECT_EQ(console_err(), "[template]:err\n");
    EXPECT_EQ(text(attempt(0) / "template/stderr.log"), "err\n");
    EXPECT_EQ(file_of({kFirstRank, LogSource::kTemplate, 0, 0}, kStderr),
              (attempt(0) / "template/stderr.log").string());
    EXPECT_EQ(logs_->stderr_tail(LogSource::kTemplate), Texts{"err"});
}

TEST_F(LogsTest, a_drain_waits_for_the_output_of_an_exited_template) {
    start(1);
    auto ends = add({kFirstRank, LogSource::kTemplate, 0, 0});
    const base::UniqueFd kept(dup(ends.err.get()));
    logs_->end_template();
    put(kept, "late\n");
    ends = {};
    EXPECT_EQ(drain(milliseconds(1)), 0u);
    EXPECT_EQ(console_err(), "late\n");
}

TEST_F(LogsTest, hidden_ranks_have_files_only) {
    options_.plan.tee.others = kStdout;
    options_.plan.shown = std::set<int>{1};
    options_.plan.prefix_template = "${rank}/$hostname ";
    start(2);
    put(ends_[0].out, "zero\n");
    put(ends_[0].err, "hidden too\n");
    put(ends_[1].out, "one\n");
    drain();
    EXPECT_EQ(console_out(), "5/node2 one\n");
    EXPECT_EQ(console_err(), "");
    EXPECT_EQ(text(attempt(0) / "0/stdout.log"), "zero\n");
}

TEST_F(LogsTest, filters_collect_lines_of_all_ranks_even_without_their_files) {
    options_.plan.stdout_filters = {"apple", "range"};
    options_.plan.shown = std::set<int>{};
    start(2);
    put(ends_[0].out, "an apple 0\npear\n");
    put(ends_[1].out, "orange 1");
    put(ends_[1].err, "apple\n");
    drain();
    Texts lines = lines_of(text(attempt(0) / "filtered_stdout.log"));
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, (Texts{"[default0]:an apple 0", "[default1]:orange 1"}));
    EXPECT_FALSE(fs::exists(attempt(0) / "filtered_stderr.log"));
}

TEST_F(LogsTest, every_round_has_its_own_files_and_stderr_tail) {
    options_.plan.redirects.others = kStdout | kStderr;
    start(1, 0);
    put(ends_[0].err, "first\n");
    logs_->read_now(0);
    EXPECT_EQ(logs_->stderr_tail(0), Texts{"first"});
    start(1, 1);
    EXPECT_EQ(logs_->stderr_tail(0), Texts{});
    put(ends_[0].err, "second\n");
    drain();
    EXPECT_EQ(text(attempt(0) / "0/stderr.log"), "first\n");
    EXPECT_EQ(text(attempt(1) / "0/stderr.log"), "second\n");
    EXPECT_EQ(logs_->stderr_tail(0, 1), Texts{"second"});
    EXPECT_EQ(logs_->stderr_tail(7), Texts{});
}

TEST_F(LogsTest, a_lone_workers_prompt_is_shown_at_once) {
    options_.workers = 1;
    options_.console_is_raw = true;
    start(1);
    put(ends_[0].out, "name? ");
    when([&] { return console_out() == "name? "; }, [&] { loop_.stop(); });
    loop_.run();
}

TEST_F(LogsTest, our_own_line_is_on_stderr_and_has_its_own_line) {
    options_.workers = 1;
    options_.console_is_raw = true;
    options_.stdout_fd = options_.stderr_fd;
    start(1);
    put(ends_[0].out, "no newline");
    logs_->read_now(0);
    logs_->print("dlaunch: hello\n");
    EXPECT_EQ(console_err(), "no newline\ndlaunch: hello\n");
    drain();
}

TEST_F(LogsTest, equal_lines_are_coalesced) {
    options_.plan.fold = true;
    options_.plan.tee.others = kStdout;
    options_.workers = 4;
    options_.plan.prefix_template = "[$role_name$local_rank|$rank]:";
    start(4);
    for (auto& ends : ends_) put(ends.out, "same\n");
    put(ends_[2].out, "other");
    drain();
    EXPECT_EQ(console_out(), "[default0-3|4-7]:same\n[default2|6]:other\n");
    EXPECT_EQ(text(attempt(0) / "1/stdout.log"), "same\n");
}

TEST_F(LogsTest, coalesced_lines_wait_for_unstarted_workers_until_the_round_ends) {
    options_.plan.fold = true;
    options_.plan.tee.others = kStdout;
    options_.workers = 3;
    start(1);
    put(ends_[0].out, "same\n");
    logs_->read_now(0);
    auto second = add({kFirstRank + 1, 1, 0, 0});
    put(second.out, "same\n");
    ends_.push_back(std::move(second));
    drain();
    EXPECT_EQ(console_out(), "[default0-1]:same\n") << "rank 2 was never opened";
}

TEST_F(LogsTest, timestamps_come_before_the_prefix) {
    options_.plan.timestamps = true;
    options_.plan.tee.by_rank = {{0, kStdout}};
    start(2);
    put(ends_[0].out, "x\n");
    put(ends_[1].err, "y\n");
    drain();
    const std::string stamp = "0000-00-00T00:00:00.000Z ";
    const auto digits_as_zeros = [](std::string text) {
        for (char& c : text)
            if (c >= '1' && c <= '9') c = '0';
        return text;
    };
    EXPECT_EQ(digits_as_zeros(console_out()), stamp + "[default0]:x\n");
    EXPECT_EQ(digits_as_zeros(console_err()), stamp + "y\n");
}

TEST_F(LogsTest, files_are_rotated) {
    options_.plan.redirects.others = kStdout;
    options_.plan.rotate_bytes = 4;
    options_.plan.rotate_keep = 1;
    start(1);
    put(ends_[0].out, "111\n222\n333\n");
    drain();
    EXPECT_EQ(text(attempt(0) / "0/stdout.log"), "333\n");
    EXPECT_EQ(text(attempt(0) / "0/stdout.log.1"), "222\n");
    EXPECT_FALSE(fs::exists(attempt(0) / "0/stdout.log.2"));
}

TEST_F(LogsTest, lines_of_many_writers_stay_whole_and_complete) {
    constexpr int kWriters = 32, kLines = 1000;
    options_.workers = kWriters;
    options_.roles.assign(kWriters, "default");
    options_.plan.tee.others = kStdout;
    start(kWriters);
    std::vector<std::thread> writers;
    writers.reserve(kWriters);
    std::atomic<int> written = 0;
    for (int rank = 0; rank < kWriters; ++rank) {
        writers.emplace_back([rank, &written, out = std::move(ends_[static_cast<std::size_t>(rank)].out)] {
            for (int i = 0; i < kLines; ++i) {
                put(out, "rank " + std::to_string(rank));
                put(out, " line " + std::to_string(i) + " end\n");
            }
            ++written;
        });
    }
    when([&] { return written == kWriters; }, [this] { begin_drain(seconds(50)); });
    loop_.run();
    EXPECT_EQ(dropped_, 0u);
    for (auto& writer : writers) writer.join();

    std::map<std::string, int> next;
    int count = 0;
    for (const std::string& line : lines_of(console_out())) {
        int prefix = -1, rank = -2, number = -1, length = 0;
        ASSERT_EQ(std::sscanf(line.c_str(), "[default%d]:rank %d line %d end%n", &prefix, &rank, &number, &length), 3)
            << line;
        ASSERT_EQ(static_cast<std::size_t>(length), line.size()) << line;
        ASSERT_EQ(prefix, rank);
        ASSERT_EQ(number, next[std::to_string(rank)]++) << line;
        ++count;
    }
    EXPECT_EQ(count, kWriters * kLines);
    EXPECT_EQ(lines_of(text(attempt(0) / "31/stdout.log")).size(), 1000u);
}

TEST_F(LogsTest, a_drain_does_not_wait_for_a_pipe_held_by_another_process) {
    options_.plan.tee.others = kStdout;
    start(2);
    put(ends_[0].out, "held by another process");
    ends_.pop_back();
    begin_drain(seconds(50));
    loop_.run();
    EXPECT_EQ(dropped_, 0u);
    EXPECT_EQ(console_out(), "[default0]:held by another process\n");
    EXPECT_EQ(write(ends_[0].out.get(), "x", 1), -1) << "the pipe has no reader any more";
}

TEST_F(LogsTest, a_drain_ends_beside_another_process_that_writes_on) {
    options_.plan.tee.others = kStdout;
    start(1);
    fcntl(ends_[0].out.get(), F_SETFL, O_NONBLOCK);
    const std::function<void()> write_on = [&] {
        while (write(ends_[0].out.get(), "more\n", 5) > 0) {}
        loop_.post(write_on);
    };
    write_on();
    begin_drain(seconds(50));
    loop_.run();
    EXPECT_EQ(write(ends_[0].out.get(), "x", 1), -1) << "the pipe has no reader any more";
}

TEST_F(LogsTest, a_drain_leaves_the_pipes_of_a_living_template_open) {
    start(1);
    auto ends = add({kFirstRank, LogSource::kTemplate, 0, 0});
    put(ends.out, "before\nwithout an end");
    begin_drain(seconds(50));
    loop_.run();
    EXPECT_EQ(console_out(), "before\nwithout an end\n");
    put(ends.out, "after\n");
    when([&] { return console_out().ends_with("after\n"); }, [this] { loop_.stop(); });
    loop_.run();
}

TEST_F(LogsTest, a_drain_ends_beside_a_living_template_that_writes_on) {
    start(1);
    auto ends = add({kFirstRank, LogSource::kTemplate, 0, 0});
    fcntl(ends.out.get(), F_SETFL, O_NONBLOCK);
    const std::function<void()> write_on = [&] {
        while (write(ends.out.get(), "more\n", 5) > 0) {}
        loop_.post(write_on);
    };
    write_on();
    begin_drain(seconds(50));
    loop_.run();
    EXPECT_EQ(dropped_, 0u);
    EXPECT_TRUE(console_out().ends_with("more\n"));
}

TEST_F(LogsTest, a_long_line_keeps_others_waiting_until_its_end) {
    options_.plan.tee.others = kStdout;
    start(2);
    const std::string half(1 << 20, 'x');
    std::atomic<bool> written = false;
    std::thread writer([&] {
        put(ends_[0].out, half);
        put(ends_[0].out, half);
        written = true;
    });
    when([&] { return written && console_out().size() > half.size(); },
         [&] {
             put(ends_[1].out, "short\n");
             put(ends_[0].out, "end\n");
             ends_.clear();
             begin_drain(seconds(50));
         });
    loop_.run();
    writer.join();
    EXPECT_TRUE(console_out() == "[default0]:" + half + half + "end\n[default1]:short\n");
}

TEST_F(LogsTest, stdout_and_stderr_on_one_pipe_are_merged_by_lines) {
    options_.stderr_fd = options_.stdout_fd;
    start(1);
    put(ends_[0].out, "out");
    logs_->read_now(0);
    put(ends_[0].err, "err\n");
    logs_->read_now(0);
    put(ends_[0].out, " more\n");
    drain();
    EXPECT_EQ(console_out(), "err\nout more\n");
}

TEST_F(LogsTest, a_terminal_has_colours_and_moving_bars) {
    int ends[2];
    ASSERT_EQ(openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0);
    base::UniqueFd master(ends[0]), terminal(ends[1]);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    options_.stdout_fd = options_.stderr_fd = terminal.get();
    options_.plan.tee.others = kStdout;
    start(2);
    put(ends_[0].out, "1%\r");
    logs_->read_now(0);
    put(ends_[1].out, "x\n");
    logs_->read_now(1);
    logs_->print("dlaunch: hi\n");
    drain();
    const std::string expected = "\x1b[36m[default0]:\x1b[0m1%\r\r\n\x1b[33m[default1]:\x1b[0mx\r\ndlaunch: hi\r\n";
    std::string shown;  // a terminal hands over what was written in parts
    for (pollfd what{master.get(), POLLIN, 0}; shown.size() < expected.size() && poll(&what, 1, 10'000) == 1;) {
        char part[1000];
        const ssize_t count = read(master.get(), part, sizeof part);
        ASSERT_GT(count, 0);
        shown.append(part, static_cast<std::size_t>(count));
    }
    EXPECT_EQ(shown, expected);
}

TEST_F(LogsTest, a_job_without_files_removes_its_folder) {
    options_.temporary = folder_;
    options_.plan.directory.clear();
    start(1);
    const fs::path run = logs_->paths().folder();
    std::ofstream(logs_->paths().error_file({kFirstRank, 0, 0, 0})) << "{}";
    EXPECT_FALSE(fs::is_empty(run));
    drain();
    logs_->remove_folder();
    EXPECT_FALSE(fs::exists(run));
}

TEST_F(LogsTest, an_unusable_tmpdir_fails_only_jobs_that_keep_files) {
    options_.temporary = folder_ / "none";
    options_.plan.directory.clear();
    Logs plain(loop_, options_);
    EXPECT_TRUE(plain.prepare());
    EXPECT_EQ(plain.paths().folder(), "");
    EXPECT_EQ(plain.take_warnings().size(), 1u);
    options_.plan.redirects.others = kStdout;
    Logs with_files(loop_, options_);
    EXPECT_FALSE(with_files.prepare());
}

TEST_F(LogsTest, dev_null_as_log_directory_means_no_files) {
    options_.plan.directory = "/dev/null";
    options_.plan.redirects.others = kStdout;
    start(1);
    put(ends_[0].out, "nowhere\n");
    EXPECT_EQ(logs_->paths().worker(0, 0), "");
    EXPECT_EQ(file_of({kFirstRank, 0, 0, 0}, kStdout), "");
    drain();
    EXPECT_EQ(console_out(), "");
}

}  // namespace
}  // namespace dlaunch::agent
