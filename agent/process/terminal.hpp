#pragma once
/// The terminal's foreground group: the guard's process group, or temporarily that of the worker that reads from the
/// terminal (--stdin=RANK). tcsetpgrp(3), credentials(7). SIGTTOU must be blocked, because the agent itself is in the
/// background.

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace dlaunch::agent {

class Terminal {
public:
    /// `guard`: its process group is the shell's job.
    explicit Terminal(pid_t guard);

    /// fd 0 is a terminal with the job in its foreground.
    [[nodiscard]] bool usable() const;
    /// fd 0 is the terminal of this session, which stops background readers until fg.
    [[nodiscard]] bool is_ours() const;
    /// fd 0 is the terminal of this session, and another group than the caller's is in its foreground.
    [[nodiscard]] bool taken() const;
    /// The terminal belongs to the shell now, or to another job.
    [[nodiscard]] bool is_in_background() const { return taken() && !usable() && !is_given(); }
    /// The job is an orphaned process group, as after `(dlaunch ... &)`: no shell can bring it to the foreground.
    [[nodiscard]] bool orphaned() const;

    /// Makes `group` the foreground group, unless the shell has taken the terminal.
    void give(pid_t group);
    /// The group of the latest give() is in the foreground.
    [[nodiscard]] bool is_given() const;
    /// Makes the job's group the foreground group again if give() has changed that.
    void take_back();
    /// Restores the terminal's modes after its worker was killed.
    void restore_modes();

private:
    pid_t guard_;
    pid_t job_group_;
    pid_t given_ = 0;
    std::optional<termios> modes_;
};

}  // namespace dlaunch::agent
