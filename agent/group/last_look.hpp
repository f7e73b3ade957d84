#pragma once
/// Records what workers do before the agent ends them, at a time limit or a hang: the last line of each, then stacks.
/// Stacks come second, because a worker that prints its stack writes further lines.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/group/workers.hpp"
#include "agent/process/helper.hpp"

namespace dlaunch::agent {

/// Owned by the worker group's shell; runs on the control loop.
class LastLook {
public:
    /// The arguments must outlive this object.
    LastLook(const WorkerDeps& deps, const LocalWorkers& workers) : deps_(deps), workers_(workers) {}

    /// A round begins: drops the evidence of the last one, and ends its debuggers.
    void begin(int round);
    /// Records the last lines of all running workers, then has gdb print the stacks of those in `local_ranks` that are
    /// native programs. `done` follows, at once or within the grace.
    void take(const std::vector<int>& local_ranks, std::function<void()> done);

    /// Adds the recorded line and stack of the failure's worker.
    void describe(Failure& failure) const;

private:
    struct Line {
        std::string text;
        std::chrono::duration<double> age{};
    };
    void look_for_line(const Worker& worker);
    void take_stacks();
    void take_stack(const Worker& worker);
    void finish_if_complete();

    const WorkerDeps& deps_;
    const LocalWorkers& workers_;
    int round_ = -1;
    base::Time looked_at_{};
    std::map<int, Line> lines_;                         ///< by local rank
    std::map<int, std::vector<std::string>> stacks_;    ///< by local rank
    std::set<int> wanted_;                              ///< local ranks whose stacks are to come
    std::vector<std::function<void()>> done_;           ///< of the calls that wait
    std::set<int> lines_awaited_, stacks_awaited_;      ///< by local rank
    std::map<int, std::unique_ptr<Helper>> debuggers_;  ///< by local rank
    base::Timer lines_due_;
};

}  // namespace dlaunch::agent
