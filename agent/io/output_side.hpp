#pragma once
/// The I/O thread's half of Output. Internal to agent/io.

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>

#include "agent/io/output.hpp"
#include "agent/status/event_file.hpp"

namespace dlaunch::agent {

/// Posts to the control loop while there is one: a thread that stands still may outlive the loop.
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

/// Only the thread uses the members, except the atomic ones and the loop's post().
struct Output::Side {
    Side(const Plan& job, base::Loop& serves, Logs::Options options, std::chrono::milliseconds end_waits)
        : plan(job), loop(serves), patience(end_waits), logs(loop, std::move(options)) {}

    [[nodiscard]] base::Result<void> prepare(const std::function<base::Result<void>()>& also);
    void print(const std::string& text);
    void print_warnings();
    [[nodiscard]] Evidence evidence(const LogSource& source) const;
    void finish(const Ending* ending, std::function<void(const std::string& lost)> done);

    [[nodiscard]] const char* log_name() const { return plan.logs.keeps_files() ? "the log files" : "the output"; }

    const Plan& plan;
    base::Loop& loop;
    const std::chrono::milliseconds patience;
    Logs logs;
    EventFile events;

    /// What a call that does not return is about.
    std::atomic<const char*> doing = log_name();
    std::atomic<bool> report_is_shown = false;
    std::atomic<std::size_t> queued_bytes = 0;
    std::atomic<std::uint64_t> lost_events = 0, lost_lines = 0;
};

/// Outlives Output when the thread stands still: the thread itself shares the ownership.
struct Output::Thread {
    base::Loop loop;
    std::shared_ptr<Side> side;
    std::thread thread;
    std::binary_semaphore has_ended{0};  ///< the thread's last act
};

}  // namespace dlaunch::agent
