#pragma once
/// Starts, signals and reaps the processes of this node's workers. All decisions are WorkerGroup's.

#include <chrono>
#include <deque>
#include <map>
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
#include "agent/process/pidfd.hpp"
#include "agent/process/proc.hpp"
#include "agent/process/shared_signals.hpp"
#include "agent/process/spawn.hpp"
#include "agent/process/terminal.hpp"
#include "agent/services/round_service.hpp"
#include "agent/services/template.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Objects of the agent that LocalWorkers depends on; they outlive every round.
struct WorkerDeps {
    base::Loop& loop;
    const Plan& plan;
    const NodeFacts& node;
    Output& output;
    WorkerCgroups& cgroups;
    Terminal& terminal;
    Children& children;
    std::vector<RoundService*> services;
    std::vector<std::vector<int>> processors;  ///< per local rank; empty: not bound
    std::optional<rlimit> open_files;          ///< the limit that workers start with: dlaunch raises its own
    Template* program = nullptr;               ///< the template of all workers; null: each worker executes the program
};

/// Receives the progress of the workers' processes and of the template.
class WorkerObserver {
public:
    virtual void on_made(const Worker& worker) = 0;                                  ///< the worker has a process
    virtual void on_executed(const Worker& worker) = 0;                              ///< the worker runs its program
    virtual void on_not_started(const Worker& worker, const SpawnError& error) = 0;  ///< the worker has no process
    virtual void on_unmade(const Worker& worker) = 0;  ///< the template will not make a fork that was ordered
    virtual void on_ended(Worker& worker) = 0;  ///< once for each worker that had a process, in the order of exits
    virtual void on_template_ready() = 0;
    virtual void on_template_refused(const SpawnError& error) = 0;
    virtual void on_template_ended(const Template::End& end) = 0;

protected:
    ~WorkerObserver() = default;
};

class LocalWorkers final : private TemplateObserver {
public:
    /// `deps` and `observer` must outlive this object. The observer is called from the loop, start(), start_template()
    /// and stop().
    LocalWorkers(const WorkerDeps& deps, WorkerObserver& observer);

    /// Replaces the workers of the last round by those of the next.
    void begin(const Assignment& assignment);

    /// The template waits at its fork point or is on its way there. Also detects a template that has died at its fork
    /// point.
    [[nodiscard]] bool has_template();
    [[nodiscard]] bool template_prepares() const { return deps_.program && deps_.program->prepares(); }
    /// The source of the template's output and of its error file.
    [[nodiscard]] const LogSource& template_source() const { return template_source_; }
    [[nodiscard]] LogSource next_template_source() const;
    [[nodiscard]] LogSource source_of(const Worker& worker) const;

    /// Starts the template; an error is the reason why there is none. The observer receives the progress.
    [[nodiscard]] std::optional<SpawnError> start_template();
    /// Makes a process for the worker, or orders it from the template.
    void start(int local_rank);

    [[nodiscard]] int alive() const { return alive_; }
    [[nodiscard]] const std::vector<Worker>& all() const { return workers_; }

    /// The living worker with this pid, group or session, or with `pid` as a descendant; null: none.
    [[nodiscard]] Worker* owner_of(pid_t pid);

    /// Gives a foreground job's terminal to the worker that reads from it. True: that worker was continued.
    bool give_terminal();
    /// Sends `number` to the process group of every living worker; stops and continues the template, too.
    void signal(int number);
    /// The sender of a signal to dlaunch may signal the workers, too: signal() and stop() wait for that. With kAnyEnd
    /// the next stop() waits for any of its signals that ask for the end.
    void await_sender(int number);
    /// The sender has signalled the workers: signal() and stop() do not repeat it.
    void has_been_sent(int number);
    /// Makes workers print their stacks where that costs nothing: SIGUSR1 if they handle it, as with Python's
    /// faulthandler.register(); SIGABRT if they handle it and not `stop_signal`, as with PYTHONFAULTHANDLER=1 and
    /// worker_lib's record(). False: there are none.
    [[nodiscard]] bool ask_for_stacks(int stop_signal) const;
    [[nodiscard]] bool ask_for_stack(const Worker& worker, int stop_signal) const;
    /// Reaps the workers that have exited.
    void collect_exited();
    /// Sends `number` as a request to end: marks each worker as asked_to_stop, and continues stopped workers so that
    /// they handle the signal. A template before its fork point receives the signal, too. No worker is forked any more.
    void stop(int number);
    struct Orphan {
        pid_t pid = 0;         ///< where /proc does not show processes, the negative number of a group
        base::UniqueFd pidfd;  ///< none for a group, or where descriptors have run out
        base::Watch watch;     ///< for the caller
        bool is_told = false;  ///< it has received a request to end, as one of its worker's process group

        void signal(int number) const { send_signal(pidfd, pid, number); }
    };
    /// Sends SIGTERM to the orphans that are not told to end. In a job of SLURM later, as the agent may learn after the
    /// deaths of workers that SLURM has signalled all processes.
    void end_orphans();
    /// Living processes in the groups of exited workers.
    [[nodiscard]] std::vector<Orphan> orphans() const;
    /// Sends SIGKILL to every living worker's group and to all processes in the workers' cgroups.
    void kill();

    /// Keeps the service's reason for the report.
    void judge(int local_rank, const Verdict& verdict) { at(local_rank).verdict = verdict; }

    /// The worker that owns the terminal was stopped. True once per stop.
    [[nodiscard]] bool terminal_stopped() const;

private:
    // TemplateObserver
    void on_ready() override;
    void on_refused(const SpawnError& error) override;
    void on_ended(const Template::End& end) override;

    [[nodiscard]] Worker& at(int local_rank) { return workers_[static_cast<std::size_t>(local_rank)]; }
    [[nodiscard]] std::vector<Orphan> groups_with_orphans() const;
    void collect(Worker& worker);
    void release_process(Worker& worker);
    void set_program(SpawnRequest& request, const Context& context) const;
    void take_results();
    void look_for_results(std::chrono::milliseconds pause);
    void await_results(std::size_t count);
    void finish_spawning(Worker& worker);
    [[nodiscard]] std::optional<SpawnError> fork(Worker& worker, const SpawnRequest& wanted);
    void read_line(Worker& worker);
    void on_silence(Worker& worker);
    void on_not_forked(Worker& worker, const SpawnError& error);
    void end_forking(Worker& worker);
    void cancel_unmade();
    static void send(Worker& worker, int number);
    static void note_told(Worker& worker, int number);
    [[nodiscard]] bool is_told(const Worker& worker, pid_t pid, const ProcessStat& stat) const;
    void send_once(int number, int awaited);
    bool answer(int awaited);
    void send_to_all(int number);
    void set_variables(SpawnRequest& request, const Variables& variables) const;
    [[nodiscard]] static SpawnError with_hint(SpawnError error);
    void watch(Worker& worker);
    SpawnRequest request(Worker& worker, const OutputEnds& ends, const Contribution& contribution) const;
    void keep_terminal_output(SpawnRequest& request, int local_rank) const;

    const WorkerDeps& deps_;
    WorkerObserver& observer_;
    Assignment assignment_;
    std::vector<std::string> inherited_;  ///< "NAME=value"
    std::vector<Worker> workers_;         ///< by local rank; never resized within a round
    int alive_ = 0;
    base::Timer next_look_;              ///< for results of exec
    std::chrono::milliseconds pause_{};  ///< before it
    std::optional<base::Time> results_due_;
    LogSource template_source_;
    SharedSignals shared_;
    std::map<int, std::deque<base::Timer>> awaiting_sender_;  ///< by awaited signal: the requests in their order
    bool awaits_any_end_ = false;
    base::Timer orphans_due_;
};

}  // namespace dlaunch::agent
