#include "agent/io/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

void write_text(const base::UniqueFd& fd, std::string_view text) {
    ASSERT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

/// A job with one worker and a pipe as console. A FIFO as log file stands for a disk that does not answer: the thread
/// waits inside open(2) until a reader opens the other end.
class OutputTest : public testing::Test {
protected:
    OutputTest() {
        signal(SIGPIPE, SIG_IGN);
        plan_.logs.directory = folder_ / "logs";
        plan_.logs.redirects.others = kStdout | kStderr;
        plan_.contexts[0].program.command = {"prog"};
        plan_.report_file = folder_ / "report";
        plan_.event_log = folder_ / "events";
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        reader_.reset(ends[0]);
        console_.reset(ends[1]);
    }
    ~OutputTest() override { output_.reset(); }

    base::Result<void> prepare(std::function<base::Result<void>()> also = [] { return base::Result<void>(); }) {
        Logs::Options options{.plan = plan_.logs, .job_id = "job", .host = "node", .roles = {"default"}};
        options.stdout_fd = options.stderr_fd = console_.get();
        output_.emplace(loop_, plan_, std::move(options), bounds_);
        base::Result<void> answer;
        output_->prepare({std::move(also), other_.make_in, other_.remove}, [&](base::Result<void> made) {
            answer = std::move(made);
            loop_.stop();
        });
        loop_.run();
        return answer;
    }

    /// For a thread that stays inside open(2), with its objects, until this process ends.
    void prepare_lasting() {
        static auto& lasting = *new std::vector<std::unique_ptr<Plan>>;
        lasting.push_back(std::make_unique<Plan>(plan_));
        bounds_.patience = 500ms;  // a busy machine must have come to the call that does not return
        Logs::Options options{.plan = plan_.logs, .job_id = "job", .host = "node", .roles = {"default"}};
        options.stdout_fd = options.stderr_fd = console_.get();
        output_.emplace(loop_, *lasting.back(), std::move(options), bounds_);
        output_->prepare(other_, [this](const base::Result<void>&) { loop_.stop(); });
        loop_.run();
    }

    void make_folders() {
        output_->make_folders({source_}, [this] { loop_.stop(); });
        loop_.run();
    }
    OutputEnds add_worker() {
        auto ends = output_->add_worker(source_);
        EXPECT_TRUE(ends);
        return std::move(*ends);
    }
    Drained drain() {
        Drained answer;
        output_->drain({source_}, [&](Drained drained) {
            answer = std::move(drained);
            loop_.stop();
        });
        loop_.run();
        return answer;
    }

    void begin_finish(std::string report, std::vector<std::string> lines = {}) {
        Output::FinalOutput final_output;
        final_output.text = std::move(report);
        final_output.lines = std::move(lines);
        final_output.report.exit_status = 3;
        output_->finish(std::move(final_output), [this](const std::string& lost) {
            lost_ = lost;
            loop_.stop();
        });
    }
    std::string finish(std::string report, std::vector<std::string> lines = {}) {
        begin_finish(std::move(report), std::move(lines));
        loop_.run();
        return lost_;
    }
    /// From now on the disk does not answer, until the test reads the returned FIFO.
    fs::path stall() {
        make_folders();
        fs::path fifo = output_->paths().worker(source_) + "/stdout.log";
        EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
        return fifo;
    }
    void fill_console() const {
        const std::string full(1 << 17, 'x');
        fcntl(console_.get(), F_SETFL, O_NONBLOCK);
        ASSERT_GT(write(console_.get(), full.data(), full.size()), 0);
    }
    std::string shown() const {
        fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
        std::string text(1 << 20, '\0');
        const ssize_t count = read(reader_.get(), text.data(), text.size());
        text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return text;
    }
    static std::string text(const fs::path& path) {
        std::ostringstream all;
        all << std::ifstream(path).rdbuf();
        return all.str();
    }

    const LogSource source_{};
    Output::OtherFiles other_{[] { return base::Result<void>(); }, [](const RunPaths&) {}, [] {}};
    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
    Plan plan_;
    Output::Bounds bounds_;
    base::UniqueFd reader_, console_;
    base::Loop loop_;
    std::optional<Output> output_;
    std::string lost_ = "not finished";
};

TEST_F(OutputTest, a_round_leaves_files_and_evidence_and_the_end_a_report) {
    ASSERT_TRUE(prepare());
    make_folders();
    OutputEnds ends = add_worker();
    write_text(ends.out, "out\n");
    write_text(ends.err, "bad\nworse\n");
    ends = {};
    std::ofstream(output_->paths().error_file(source_)) << R"({"message": "it broke"})";
    output_->write_event("event\n");
    const Drained drained = drain();
    EXPECT_FALSE(drained.stalled);
    EXPECT_EQ(drained.dropped_bytes, 0u);
    ASSERT_TRUE(drained.evidence.contains(0));
    EXPECT_EQ(drained.evidence.at(0).stderr_tail, (std::vector<std::string>{"bad", "worse"}));
    EXPECT_EQ(drained.evidence.at(0).record.value().message, "it broke");
    output_->print("a line\nwith a break");
    EXPECT_EQ(finish("dlaunch: the report\n"), "");
    EXPECT_EQ(shown(), "dlaunch: a line\\x0awith a break\ndlaunch: the report\n");
    EXPECT_EQ(text(output_->paths().worker(source_) + "/stdout.log"), "out\n");
    EXPECT_EQ(text(folder_ / "events"), "event\n");
    EXPECT_NE(text(folder_ / "report").find("\"exit_status\""), std::string::npos);
    EXPECT_FALSE(output_->has_stalled());
}

TEST_F(OutputTest, a_suspension_is_reported_unless_the_job_has_gone_on) {
    ASSERT_TRUE(prepare());
    int reports = 0;
    output_->suspend([&] { ++reports; });
    make_folders();
    EXPECT_EQ(reports, 1);
    output_->resume(false);
    output_->suspend([&] { ++reports; });
    output_->resume(false);
    make_folders();  // answered after the suspension
    EXPECT_EQ(reports, 1);
}

TEST_F(OutputTest, prepare_returns_the_first_error) {
    const auto refused = prepare([] { return base::Error{"no timer"}; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "no timer");
    plan_.event_log = folder_ / "no/such";
    EXPECT_EQ(prepare().error().text, "event log " + (folder_ / "no/such").string() + ": No such file or directory");
}

TEST_F(OutputTest, other_files_are_made_around_the_run_folder_and_removed_after_all_output) {
    other_.make_in = [&](const RunPaths& paths) { EXPECT_TRUE(fs::is_directory(paths.folder())); };
    other_.remove = [&] { EXPECT_EQ(shown(), "the report\n"); };
    ASSERT_TRUE(prepare([&] {
        EXPECT_FALSE(fs::exists(plan_.logs.directory));
        return base::Result<void>();
    }));
    EXPECT_EQ(finish("the report\n"), "");
    EXPECT_EQ(shown(), "") << "shown before the removal";
}

TEST_F(OutputTest, a_drain_does_not_wait_for_a_disk_that_does_not_answer) {
    bounds_.stall = 10ms;
    ASSERT_TRUE(prepare());
    const fs::path fifo = stall();
    OutputEnds ends = add_worker();
    ends = {};
    const Drained drained = drain();
    EXPECT_TRUE(drained.stalled);
    EXPECT_TRUE(drained.evidence.empty());
    const base::UniqueFd answers(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_EQ(finish("late\n"), "") << "the disk has answered";
    EXPECT_EQ(shown(), "late\n");
}

TEST_F(OutputTest, lines_that_wait_for_the_disk_are_bounded) {
    ASSERT_TRUE(prepare());
    const fs::path fifo = stall();
    OutputEnds ends = add_worker();
    const std::string large(1 << 20, 'x');
    for (std::size_t n = 0; n < 20; ++n) output_->write_event(large + "\n");
    ends = {};
    const base::UniqueFd answers(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    drain();
    output_->write_event("after\n");
    EXPECT_EQ(finish(""), "");
    EXPECT_LE(fs::file_size(folder_ / "events"), Output::kMostQueuedBytes + 2 * large.size());
    EXPECT_NE(shown().find("lines were too many to keep in memory; some events are lost"), std::string::npos);
}

TEST_F(OutputTest, the_report_waits_for_a_slow_reader) {
    fill_console();
    ASSERT_TRUE(prepare());
    begin_finish("the report\n");
    std::string seen;
    const base::Timer late = loop_.after(20ms, [&] { seen = shown(); });
    loop_.run();
    EXPECT_EQ(lost_, "");
    seen += shown();
    EXPECT_TRUE(seen.ends_with("xthe report\n"));
}

TEST_F(OutputTest, a_stuck_reader_is_given_up) {
    bounds_.patience = 500ms;  // a call that writes the report may take long on a busy machine
    fill_console();
    ASSERT_TRUE(prepare());
    EXPECT_EQ(finish("the report\n"), "");
    EXPECT_EQ(shown().find("the report"), std::string::npos);
}

TEST_F(OutputTest, a_second_request_to_end_cuts_the_patience) {
    bounds_.patience = 50s;
    fill_console();
    ASSERT_TRUE(prepare());
    begin_finish("the report\n");
    output_->hurry();
    loop_.run();
    EXPECT_EQ(lost_, "");
    EXPECT_EQ(shown().find("the report"), std::string::npos);
}

TEST_F(OutputTest, the_end_of_the_job_gives_up_a_disk_that_does_not_answer) {
    prepare_lasting();
    stall();
    const OutputEnds ends = add_worker();
    output_->write_event("one\n");
    output_->write_event("two\n");
    EXPECT_EQ(
        finish("the report\n", {"a line"}),
        "the report\ndlaunch: a line\ndlaunch: the log files could not be written: the file system does not answer; "
        "the workers' output since then is lost; the event log lacks 2 events");
    EXPECT_TRUE(output_->has_stalled());
    EXPECT_NE(text(plan_.report_file).find("\"exit_status\": 3"), std::string::npos) << "its disk answers";
}

TEST_F(OutputTest, a_report_that_cannot_be_written_either_is_named) {
    ASSERT_EQ(mkfifo(plan_.report_file.c_str(), 0600), 0);
    prepare_lasting();
    stall();
    const OutputEnds ends = add_worker();
    EXPECT_EQ(finish("the report\n"),
              "the report\ndlaunch: the log files could not be written: the file system does not answer; the workers' "
              "output since then is lost; report " +
                  plan_.report_file + ": a FIFO without a reader");
}

TEST_F(OutputTest, the_end_of_the_job_gives_up_files_that_cannot_be_removed) {
    const fs::path fifo = folder_ / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    other_.remove = [fifo] { const base::UniqueFd waits(open(fifo.c_str(), O_WRONLY | O_CLOEXEC)); };
    prepare_lasting();
    EXPECT_EQ(finish("the report\n"),
              "the temporary files in /tmp could not be removed: the file system does not answer");
    EXPECT_EQ(shown(), "the report\n");
    EXPECT_TRUE(output_->has_stalled());
}

}  // namespace
}  // namespace dlaunch::agent
