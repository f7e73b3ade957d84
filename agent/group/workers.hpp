#pragma once
/// The processes of this node's workers: starts them, signals them, collects them. Decides nothing.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/group/assignment.hpp"
#include "agent/group/environment.hpp"
#include "agent/group/input.hpp"
#include "agent/group/worker.hpp"
#include "agent/logs/logs.hpp"
#include "agent/plan.hpp"
#include "agent/process/cgroup.hpp"
#include "agent/process/spawn.hpp"
#include "agent/process/terminal.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class LocalWorkers {
public:
    /// What outlives every round, owned by the agent.
    struct Surroundings {
        base::Loop& loop;
        const Plan& plan;
        const NodeFacts& node;
        Logs& logs;
        WorkerCgroups& cgroups;
        StandardInput& input;
        Terminal& terminal;
        std::vector<std::vector<int>> processors;  ///< per local rank; empty: not bound
        std::optional<rlimit> open_files;          ///< the limit workers get back
    };
    struct Listener {
        std::function<void(const Worker&)> started;  ///< it runs its program
        std::function<void(Worker&)> ended;          ///< once for each worker that ran, in the order of their deaths
        std::function<void(Worker&, const SpawnError&)> not_started;
    };

    /// The listener is called from the loop, and from settle().
    LocalWorkers(Surroundings surroundings, Listener listener);

    /// Forgets the last round.
    void begin(const Assignment& assignment);

    /// Sends the worker on its way; nothing when there is a process for it, else why not.
    [[nodiscard]] std::optional<SpawnError> start(int local_rank);

    /// Waits until the worker runs its program; tells the listener if it could not.
    void settle(int local_rank);

    [[nodiscard]] int alive() const { return alive_; }
    [[nodiscard]] std::vector<Worker>& all() { return workers_; }
    [[nodiscard]] const std::vector<Worker>& all() const { return workers_; }

    /// Sends `number` to the process group of every living worker.
    void signal(int number);
    /// The same, as a request to end: a stopped worker is continued so that it hears it, and whatever it does is ours.
    void stop(int number);
    /// Processes that are left in the groups of workers that have ended.
    [[nodiscard]] std::vector<pid_t> orphans() const;
    /// SIGKILL to every living worker's group, and to everything in their cgroups.
    void kill();

    /// SIGCHLD: reaps orphans that were left to us. True when the worker that owns the terminal was stopped there.
    bool reap_orphans();

private:
    void collect(Worker& worker);
    void forget_process(Worker& worker);
    SpawnRequest request(Worker& worker, const Logs::Ends& ends, const StandardInput::Given& input) const;
    void keep_terminal_output(SpawnRequest& request, int local_rank) const;

    Surroundings around_;
    Listener listener_;
    Assignment assignment_;
    Variables inherited_;
    std::vector<Worker> workers_;  ///< by local rank; never resized within a round
    int alive_ = 0;
    bool orphans_wait_ = false;  ///< behind a worker that was dead but not collected yet
};

}  // namespace dlaunch::agent
