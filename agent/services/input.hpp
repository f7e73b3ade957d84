#pragma once
/// The workers' fd 0: /dev/null, dlaunch's stdin, or a copy of dlaunch's stdin.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/plan.hpp"
#include "agent/process/front_notice.hpp"
#include "agent/process/terminal.hpp"
#include "agent/services/input_copier.hpp"
#include "agent/services/round_service.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class StandardInput final : public RoundService {
public:
    /// All references must outlive this object, `io` must live as long as the process.
    StandardInput(base::Loop& control, base::Loop& io, const Plan& plan, Terminal& terminal);

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
    void on_copier(std::function<void(InputCopier&)> work);

    base::Loop& control_;
    base::Loop& copying_;  ///< the copier's
    StdinPlan plan_;
    bool is_mpi_;
    int notices_;  ///< Plan::front_notices
    std::optional<FrontNotice>
        notice_;  ///< of this round, if one of its workers reads; with pipes until they are copied
    Terminal& terminal_;
    base::UniqueFd null_;
    std::shared_ptr<InputCopier> copier_;  ///< shared with calls that are queued on its loop
    std::vector<base::UniqueFd> pipes_;    ///< of the workers made so far in this round
    std::function<void()> terminal_wanted_ = [] {};
};

}  // namespace dlaunch::agent
