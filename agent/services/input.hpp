#pragma once
/// The workers' fd 0: /dev/null, dlaunch's stdin, or a copy of dlaunch's stdin.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "agent/process/terminal.hpp"
#include "agent/services/round_service.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class StandardInput final : public RoundService {
public:
    StandardInput(base::Loop& loop, const Plan& plan, Terminal& terminal);

    /// Calls `wanted` when the copy needs the terminal while the shell has it: the job must stop until fg.
    void on_terminal_wanted(std::function<void()> wanted) { terminal_wanted_ = std::move(wanted); }
    void contribute(const Assignment& assignment, int local_rank, Contribution& to) override;
    /// Begins to copy to all workers (--stdin=all).
    void started() override;
    /// Ends the copy.
    void finish() override;
    /// Ctrl-Z: reads nothing and leaves the terminal alone until resume().
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
    StdinPlan plan_;
    Terminal& terminal_;
    base::UniqueFd null_;

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
    std::function<void()> terminal_wanted_ = [] {};
};

}  // namespace dlaunch::agent
