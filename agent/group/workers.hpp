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
#include "agent/process/template.hpp"
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
        Template* program = nullptr;               ///< what workers are forks of; null: each executes it
    };
    struct Listener {
        std::function<void(const Worker&)> started;  ///< it runs its program
        std::function<void(Worker&)> ended;          ///< once for each worker that ran, in the order of their deaths
        std::function<void(Worker&, const SpawnError&)> not_started;
        std::function<void(const SpawnError&)> template_failed;
        std::function<void()> template_ready;
    };

    /// The listener is called from the loop, and from settle().
    /// `surroundings` must live longer.
    LocalWorkers(const Surroundings& surroundings, Listener listener);

    /// Forgets the last round.
    void begin(const Assignment& assignment);

    /// Whether start() may be called. If not, the template is on its way to its fork point: the listener is told.
    [[nodiscard]] bool may_start();

    /// Whether start() failed only because the template was killed, as the last round's workers may have been with it,
    /// and had not been missed yet. Once in a round: a new one may be tried.
    [[nodiscard]] bool outlived_template(const SpawnError& error);

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
    /// Nobody of those is a worker's: the template, as long as there is one.
    [[nodiscard]] std::vector<pid_t> spared() const;
    /// For kill(2): processes that are left in the groups of workers that have ended; where /proc does not show them,
    /// the groups themselves.
    [[nodiscard]] std::vector<pid_t> orphans() const;
    /// SIGKILL to every living worker's group, and to everything in their cgroups.
    void kill();

    /// SIGCHLD: reaps orphans that were left to us. True when the worker that owns the terminal was stopped there.
    bool reap_orphans();

private:
    void collect(Worker& worker);
    [[nodiscard]] std::vector<pid_t> groups_with_orphans() const;
    void forget_process(Worker& worker);
    [[nodiscard]] std::optional<SpawnError> find_path(SpawnRequest& request) const;
    [[nodiscard]] std::optional<SpawnError> start_template();
    [[nodiscard]] std::optional<SpawnError> fork(Worker& worker, const SpawnRequest& wanted);
    void watch(Worker& worker);
    SpawnRequest request(Worker& worker, const Logs::Ends& ends, const StandardInput::Given& input) const;
    void keep_terminal_output(SpawnRequest& request, int local_rank) const;

    const Surroundings& around_;
    Listener listener_;
    Assignment assignment_;
    Variables inherited_;
    std::vector<Worker> workers_;  ///< by local rank; never resized within a round
    int alive_ = 0;
    bool template_missed_ = false;
    bool orphans_wait_ = false;  ///< behind a worker that was dead but not collected yet
};

}  // namespace dlaunch::agent
