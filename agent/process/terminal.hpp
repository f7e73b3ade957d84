#pragma once
/// Who owns the terminal: the guard's process group, or for a while the worker that reads from it (--stdin=RANK).
/// tcsetpgrp(3), credentials(7). Needs SIGTTOU blocked: we are in the background ourselves.

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace dlaunch::agent {

class Terminal {
public:
    /// `guard`: whose process group the shell knows as the job.
    explicit Terminal(pid_t guard);

    /// Our fd 0 is a terminal and the job is in its foreground.
    [[nodiscard]] bool usable() const;
    /// Our fd 0 is the terminal of our session: whoever reads from it in the background is stopped until fg.
    [[nodiscard]] bool is_ours() const;
    /// It is, and another group is in its foreground than the caller's.
    [[nodiscard]] bool taken() const;
    /// No shell can bring the job to the foreground, as after `(dlaunch ... &)`: an orphaned process group.
    [[nodiscard]] bool orphaned() const;

    /// Makes `group` the foreground group, unless the shell has taken the terminal meanwhile.
    void give(pid_t group);
    /// A group that `give` named is in the foreground.
    [[nodiscard]] bool is_given() const;
    /// Makes the job's group the foreground group again, if `give` had changed it.
    void take_back();
    /// Whoever had the terminal did not end by itself: brings back the modes it had before.
    void restore_modes();

private:
    pid_t guard_;
    pid_t job_group_;
    pid_t given_ = 0;
    std::optional<termios> modes_;
};

}  // namespace dlaunch::agent
