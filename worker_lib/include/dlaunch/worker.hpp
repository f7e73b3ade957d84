#pragma once
/// A worker and its agent: errors, restarts, signs of life. All of it works, and does nothing, without a launcher.

#include <chrono>
#include <functional>
#include <string>

namespace dlaunch {

/// Runs `main` and returns what it returns. What it throws is written into the worker's error file
/// ($TORCHELASTIC_ERROR_FILE, in torch's format), so that the launcher's report says it, and to standard error; then it
/// returns 1. A fatal signal leaves its name and a stack there.
int record(const std::function<int()>& main);
int record(int argc, char** argv, int (*main)(int, char**));

/// Under `dlaunch --start-method=fork` the program runs once per node up to here; each worker is a fork of it, begins
/// here, and so does each one of a later round after a restart: what came before, tables, models, files that were read,
/// is paid once. Before it there is no rank yet ($RANK and the others are set when it returns), no standard input, and
/// the output is nobody's ("[template]:"). Without that option it does nothing. Call it once, in the program's first
/// process. Where the program cannot be forked, as it has other threads than this one or has opened a GPU, the launcher
/// ends it and says why. Throws Error (invalid_argument) where there is no launcher any more.
void fork_point();

/// How often the job has been restarted: 0 in the first attempt.
[[nodiscard]] int restart_count();

/// `callback` is called once, from a thread of its own, when this process is told to stop (by SIGTERM, or by the
/// launcher's --stop-signal, which $DLAUNCH_WORKER_STOP_SIGNAL names): time to write a checkpoint. Then the process
/// goes on; it is killed when the launcher's grace is over. Called with nullptr, these signals end the process again;
/// so they do in a fork of it, which may call on_stop() itself.
void on_stop(std::function<void()> callback);
/// Whether it has been told so.
[[nodiscard]] bool is_stopping();

/// A part of the program that must not take longer than `timeout`: else the launcher ends this worker, and names the
/// section. Sections of one name are one, which the first end ends. Torch's timers do the same; the launcher hears of
/// both through $TORCHELASTIC_TIMER_FILE, which it sets where it was itself started with
/// TORCHELASTIC_ENABLE_FILE_TIMER=1. Else nobody watches.
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

/// "I am alive, and expect to say so again within `next`." Heard as sections are.
void heartbeat(std::chrono::milliseconds next = std::chrono::minutes(30));

}  // namespace dlaunch
