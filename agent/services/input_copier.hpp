#pragma once
/// Copies dlaunch's stdin to several workers (--stdin=all).

#include <functional>
#include <string>
#include <vector>

#include "agent/process/terminal.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// All calls and callbacks are on one loop. A file as stdin may be on an unresponsive disk, so the loop is the I/O
/// thread's; with a terminal as stdin it is the control loop, which assigns the terminal to workers.
class InputCopier {
public:
    /// `terminal` is null unless stdin is one. Calls `terminal_wanted` when the copy needs the terminal while the shell
    /// has it: the job must stop until fg.
    InputCopier(base::Loop& loop, Terminal* terminal, std::function<void()> terminal_wanted)
        : loop_(loop), terminal_(terminal), terminal_wanted_(std::move(terminal_wanted)) {}

    /// Copies from now on to these pipes, which do not block. Closes them at the end of stdin. Calls `on_end` when no
    /// pipe is left.
    void begin(std::vector<base::UniqueFd> pipes, std::function<void()> on_end);
    /// Closes all pipes.
    void finish();
    /// Reads nothing until resume().
    void suspend();
    void resume();

private:
    void copy_some();
    void flush();
    void read_more();
    [[nodiscard]] bool may_read();
    void wait_for_terminal();
    void end();
    void end_copying();

    base::Loop& loop_;
    Terminal* terminal_;
    std::function<void()> terminal_wanted_;
    std::function<void()> on_end_;

    struct Reader {
        base::UniqueFd pipe;
        base::Watch watch;
        std::size_t sent = 0;  ///< bytes of buffer_
    };
    std::vector<Reader> readers_;
    std::string buffer_;     ///< bytes that the slowest reader has not received yet
    bool ended_ = false;     ///< stdin is at its end
    bool must_wait_ = true;  ///< epoll can watch stdin; false for files, which are always ready
    bool suspended_ = false;
    bool turn_posted_ = false;
    base::Watch watch_;
};

}  // namespace dlaunch::agent
