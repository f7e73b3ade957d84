#pragma once
/// The interface between a worker and its agent: error records, restarts, heartbeats. Without a launcher every function
/// works and has no effect beyond this process.

#include <chrono>
#include <functional>
#include <string>

#include <dlaunch/standard.hpp>

namespace dlaunch {

/// Calls `main` and returns its result. An exception is written to stderr and to the worker's error file
/// ($TORCHELASTIC_ERROR_FILE, in torch's format), which the launcher's report quotes; record() then returns 1. A fatal
/// signal writes its name and a backtrace to the error file. Sets stdout to line buffering, as init_process_group()
/// does.
[[nodiscard]] int record(const std::function<int()>& main);
[[nodiscard]] int record(int argc, char** argv, int (*main)(int, char**));

/// With `dlaunch --start-method=fork` one process per node, the template, runs the program up to fork_point(). Each
/// worker is a fork of the template and continues from here, also in later rounds after a restart; initialization
/// before fork_point() (tables, models, files) is paid once per node. Before fork_point() returns, $RANK and the other
/// variables are unset, stdin is empty, and output is prefixed "[template]:". Without the option fork_point() does
/// nothing. Call it once, in the program's first process. If the program cannot be forked, because it has several
/// threads or has opened a GPU, the launcher ends it and reports the reason. Throws Error (invalid_argument) if the
/// launcher is gone.
void fork_point();

/// Number of restarts of the job so far; 0 in the first attempt.
[[nodiscard]] int restart_count();

/// Calls `callback` once, from its own thread, when this process receives SIGTERM or the launcher's --stop-signal
/// ($DLAUNCH_WORKER_STOP_SIGNAL), for example to write a checkpoint. The process continues afterwards; the launcher
/// kills it after the grace period. nullptr restores the default action of these signals. A fork of the process starts
/// with the default action and may call on_stop() itself.
void on_stop(std::function<void()> callback);
/// True: a stop signal has arrived.
[[nodiscard]] bool is_stopping();

/// A scope that must not last longer than `timeout`; otherwise the launcher kills this worker and names the section in
/// its report. Sections are identified by name: the first end ends all open sections of that name. dlaunch watches
/// always, torchrun if it was started with TORCHELASTIC_ENABLE_FILE_TIMER=1. Without a launcher a section has no
/// effect.
class Section {
public:
    explicit Section(const std::string& name, std::chrono::milliseconds timeout = std::chrono::minutes(30));
    ~Section();
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

private:
    std::string name_;
};
[[nodiscard]] inline Section section(const std::string& name,
                                     std::chrono::milliseconds timeout = std::chrono::minutes(30)) {
    return Section(name, timeout);
}

/// Promises another heartbeat() within `next`; otherwise the launcher kills this worker. Watched like sections.
void heartbeat(std::chrono::milliseconds next = std::chrono::minutes(30));

}  // namespace dlaunch
