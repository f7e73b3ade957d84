#pragma once
/// The processes of this node's workers: starts, signals and reaps them. Decides nothing.

#include <optional>
#include <string>
#include <vector>

#include "agent/group/environment.hpp"
#include "agent/group/worker.hpp"
#include "agent/io/output.hpp"
#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"
#include "agent/process/cgroup.hpp"
#include "agent/process/children.hpp"
#include "agent/process/spawn.hpp"
#include "agent/process/terminal.hpp"
#include "agent/services/round_service.hpp"
#include "agent/services/template.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// What outlives every round, owned by the agent.
struct WorkerHost {
    base::Loop& loop;
    const Plan& plan;
    const NodeFacts& node;
    Output& output;
    WorkerCgroups& cgroups;
    Terminal& terminal;
    Children& children;
    std::vector<RoundService*> services;
    std::vector<std::vector<int>> processors;  ///< per local rank; empty: not bound
    std::optional<rlimit> open_files;          ///< the limit workers get back
    Template* program = nullptr;               ///< what workers are forks of; null: each executes it
};

/// Of what happens to the workers' processes and to the template's.
class WorkerObserver {
public:
    virtual void on_made(const Worker& worker) = 0;                                  ///< it has a process
    virtual void on_executed(const Worker& worker) = 0;                              ///< it runs its program
    virtual void on_not_started(const Worker& worker, const SpawnError& error) = 0;  ///< it has no process
    virtual void on_unmade(const Worker& worker) = 0;  ///< a fork that was ordered will not be made
    virtual void on_ended(Worker& worker) = 0;         ///< once for each that had a process, in the order of deaths
    virtual void on_template_ready() = 0;
    virtual void on_template_refused(const SpawnError& error) = 0;
    virtual void on_template_ended(const Template::End& end) = 0;

protected:
    ~WorkerObserver() = default;
};

class LocalWorkers final : private TemplateObserver {
public:
    /// Both must live longer. The observer is called from the loop, and from start(), start_template() and stop().
    LocalWorkers(const WorkerHost& host, WorkerObserver& observer);

    /// Forgets the last round.
    void begin(const Assignment& assignment);

    /// The template runs, be it on its way to its fork point. One that has died there unseen is forgotten.
    [[nodiscard]] bool has_template();
    [[nodiscard]] bool template_prepares() const { return host_.program && host_.program->prepares(); }
    /// Whose output the template's is, and its error file.
    [[nodiscard]] const LogSource& template_source() const { return template_source_; }
    [[nodiscard]] LogSource next_template_source() const;
    [[nodiscard]] LogSource source_of(const Worker& worker) const;

    /// Nothing, or why there is none. Its progress goes to the observer.
    [[nodiscard]] std::optional<SpawnError> start_template();
    /// Makes a process for the worker, or orders it from the template.
    void start(int local_rank);

    [[nodiscard]] int alive() const { return alive_; }
    [[nodiscard]] const std::vector<Worker>& all() const { return workers_; }

    /// The living worker that `pid` is, or whose group, session or descendant it is; null: of none.
    [[nodiscard]] Worker* owner_of(pid_t pid);

    /// Sends `number` to the process group of every living worker; stops and continues the template, too.
    void signal(int number);
    /// As a request to end: a stopped worker is continued so that it handles the signal, and is marked asked_to_stop. A
    /// template that is not at its fork point is asked likewise. No worker is forked any more.
    void stop(int number);
    struct Orphan {
        pid_t pid = 0;         ///< for kill(2); where /proc does not show processes, the negative number of a group
        base::UniqueFd pidfd;  ///< none where there is no pid, or no descriptor left
        base::Watch watch;     ///< for the caller
    };
    /// Living processes in the groups of workers that have ended.
    [[nodiscard]] std::vector<Orphan> orphans() const;
    /// SIGKILL to every living worker's group, and to everything in their cgroups.
    void kill();

    /// The worker that owns the terminal was stopped there. Once per stop.
    [[nodiscard]] bool terminal_stopped() const;

private:
    // TemplateObserver
    void on_ready() override;
    void on_refused(const SpawnError& error) override;
    void on_ended(const Template::End& end) override;

    [[nodiscard]] std::vector<Orphan> groups_with_orphans() const;
    void collect(Worker& worker);
    void forget_process(Worker& worker);
    void set_program(SpawnRequest& request) const;
    void finish_spawning(Worker& worker);
    void await_results(std::size_t count);
    [[nodiscard]] std::optional<SpawnError> fork(Worker& worker, const SpawnRequest& wanted);
    void read_line(Worker& worker);
    void on_silence(Worker& worker);
    void on_not_forked(Worker& worker, const SpawnError& error);
    void end_forking(Worker& worker);
    void forget_unmade();
    static void send(const Worker& worker, int number);
    void set_variables(SpawnRequest& request, const Variables& variables) const;
    [[nodiscard]] static SpawnError with_hint(SpawnError error);
    void watch(Worker& worker);
    SpawnRequest request(Worker& worker, const OutputEnds& ends, const Contribution& contribution) const;
    void keep_terminal_output(SpawnRequest& request, int local_rank) const;

    const WorkerHost& host_;
    WorkerObserver& observer_;
    Assignment assignment_;
    std::vector<std::string> inherited_;  ///< "NAME=value"
    std::vector<Worker> workers_;         ///< by local rank; never resized within a round
    int alive_ = 0;
    LogSource template_source_;
};

}  // namespace dlaunch::agent
