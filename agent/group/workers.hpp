#pragma once
/// The processes of this node's workers: starts them, signals them, collects them. Decides nothing.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/group/environment.hpp"
#include "agent/group/worker.hpp"
#include "agent/logs/logs.hpp"
#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"
#include "agent/process/cgroup.hpp"
#include "agent/process/spawn.hpp"
#include "agent/process/terminal.hpp"
#include "agent/services/input.hpp"
#include "agent/services/template.hpp"
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
        Template::Listener program;   ///< of the template
        std::function<void()> go_on;  ///< what may_start() or settle() waited for has come
    };

    /// The listener is called from the loop, and from settle().
    /// `surroundings` must live longer.
    LocalWorkers(const Surroundings& surroundings, Listener listener);

    /// Forgets the last round.
    void begin(const Assignment& assignment);

    /// Whether start() may be called. If not, the template is on its way to its fork point: its listener is told.
    [[nodiscard]] bool may_start();
    /// The first who has no process; null: all have one, or have had.
    [[nodiscard]] Worker* first_missing();
    [[nodiscard]] bool none_made() const;
    [[nodiscard]] bool template_prepares() const { return around_.program && around_.program->prepares(); }
    /// It was started in this round.
    [[nodiscard]] bool template_is_new() const { return template_is_new_; }
    /// Whose output the template's is, and its error file.
    [[nodiscard]] const LogSource& template_source() const { return template_source_; }

    /// Sends the worker on its way; nothing when there is a process for it, else why not.
    [[nodiscard]] std::optional<SpawnError> start(int local_rank);

    /// Waits until the worker runs its program; tells the listener if it could not. False: it is a fork on its way, for
    /// which nobody waits.
    bool settle(int local_rank);

    [[nodiscard]] int alive() const { return alive_; }
    /// Nobody lives, and no template runs that the round would have to stop.
    [[nodiscard]] bool none_left() const { return alive_ == 0 && !template_prepares() && !awaits_unknown(); }
    [[nodiscard]] std::vector<Worker>& all() { return workers_; }
    [[nodiscard]] const std::vector<Worker>& all() const { return workers_; }

    /// The living worker that `pid` is, or whose group, session or descendant it is; null: of none.
    [[nodiscard]] Worker* owner_of(pid_t pid);

    /// Sends `number` to the process group of every living worker; stops and continues the template, too.
    void signal(int number);
    /// As a request to end: a stopped worker is continued so that it hears it, and whatever it does is ours. A template
    /// that is not at its fork point is asked likewise. Nobody is forked any more.
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
    void hear(Worker& worker);
    void on_silence(Worker& worker);
    void on_not_forked(Worker& worker, const SpawnError& error);
    void forget_unmade();
    [[nodiscard]] bool awaits_unknown() const;
    void watch_template();
    static void send(const Worker& worker, int number);
    void set_variables(SpawnRequest& request, const Variables& variables) const;
    [[nodiscard]] static SpawnError with_hint(SpawnError error);
    void watch(Worker& worker);
    SpawnRequest request(Worker& worker, const Logs::Ends& ends, const StandardInput::Given& input) const;
    void keep_terminal_output(SpawnRequest& request, int local_rank) const;

    const Surroundings& around_;
    Listener listener_;
    Assignment assignment_;
    std::vector<std::string> inherited_;  ///< "NAME=value"
    std::vector<Worker> workers_;         ///< by local rank; never resized within a round
    int alive_ = 0;
    bool orphans_wait_ = false;  ///< behind a worker that was dead but not collected yet
    bool template_is_new_ = false;
    LogSource template_source_;
};

}  // namespace dlaunch::agent
