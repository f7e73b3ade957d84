#pragma once
/// The I/O thread's half of Output. For agent/io alone.

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>

#include "agent/io/output.hpp"
#include "agent/status/event_file.hpp"

namespace dlaunch::agent {

/// The thread may outlive the control loop when it stands still.
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

/// Members are used by the thread alone, but for the atomic ones and the loop's post().
struct Output::Side {
    Side(const Plan& job, base::Loop& serves, Logs::Options options, std::chrono::milliseconds end_waits)
        : plan(job), loop(serves), patience(end_waits), logs(loop, std::move(options)) {}

    [[nodiscard]] base::Result<void> prepare(const std::function<base::Result<void>()>& also);
    void say(const std::string& text);
    void say_complaints();
    [[nodiscard]] Evidence evidence(const LogSource& source) const;
    void finish(const Ending* ending, std::function<void(const std::string& lost)> done);

    const Plan& plan;
    base::Loop& loop;
    const std::chrono::milliseconds patience;
    Logs logs;
    EventFile events;

    std::atomic<const char*> doing = "the log files";  ///< what a call that does not return would be about
    std::atomic<bool> report_is_shown = false;
    std::atomic<std::size_t> queued_bytes = 0;
    std::atomic<std::uint64_t> lost_events = 0, lost_lines = 0;
};

/// Outlives Output when the thread stands still.
struct Output::Thread {
    base::Loop loop;
    std::shared_ptr<Side> side;
    std::thread thread;
    std::binary_semaphore has_ended{0};  ///< the thread's last act
};

}  // namespace dlaunch::agent
