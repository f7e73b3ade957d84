#pragma once
/// The I/O thread's half of Output. Internal to agent/io.

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>

#include "agent/io/output.hpp"
#include "agent/status/event_file.hpp"

namespace dlaunch::agent {

/// Posts to the control loop while it exists: a stalled thread may outlive the loop.
struct Output::Gate {
    explicit Gate(base::Loop& loop) : control(&loop) {}

    void post(std::function<void()> callback) {
        const std::lock_guard lock(mutex);
        if (control) control->post(std::move(callback));
    }
    void close() {
        const std::lock_guard lock(mutex);
        control = nullptr;
    }

    std::mutex mutex;
    base::Loop* control;
};

/// The purpose of the thread's current call, for messages about a call that does not return.
enum class Doing { output, log_files, event_log, report, timer_file, temporary_files, removal };

/// Only the thread uses the members, except the atomic ones and the loop's post().
struct Output::Side {
    Side(const Plan& job, base::Loop& serves, Logs::Options options, std::chrono::milliseconds end_waits)
        : plan(job), loop(serves), patience(end_waits), logs(loop, std::move(options)) {}

    [[nodiscard]] base::Result<void> prepare(OtherFiles files);
    void print(const std::string& text);
    void print_warnings();
    [[nodiscard]] Evidence evidence(const LogSource& source) const;
    [[nodiscard]] std::optional<ShownError> error(int local_rank, const std::vector<std::string>& stderr_tail) const;
    void finish(const FinalOutput* final_output, std::function<void(const std::string& lost)> done);

    [[nodiscard]] Doing logging() const { return plan.logs.keeps_files() ? Doing::log_files : Doing::output; }
    /// "the log files"; for the control loop, too.
    [[nodiscard]] std::string object() const;
    /// The failure to report for an abandoned call: "the log files could not be written"; for the control loop, too.
    [[nodiscard]] std::string failure() const;

    const Plan& plan;
    base::Loop& loop;
    const std::chrono::milliseconds patience;
    Logs logs;
    EventFile events;
    OtherFiles other;

    std::atomic<Doing> doing = logging();
    std::atomic<bool> report_is_shown = false, reports_are_written = false;
    std::atomic<int> queued_events = 0;
    std::atomic<std::size_t> queued_bytes = 0;
    std::atomic<std::uint64_t> lost_events = 0, lost_lines = 0;
};

/// Outlives Output when the thread has stalled: the thread itself shares the ownership.
struct Output::Thread {
    base::Loop loop;
    std::shared_ptr<Side> side;
    std::thread thread;
    std::binary_semaphore has_ended{0};  ///< the thread's last act
};

}  // namespace dlaunch::agent
