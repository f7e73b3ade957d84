#pragma once
/// Carries out the commands of the worker group's state machine (worker_group.hpp) and feeds events back: from the
/// processes of LocalWorkers, timers, the sweep and the drain of the logs.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/errors/memory.hpp"
#include "agent/group/earlier_errors.hpp"
#include "agent/group/last_look.hpp"
#include "agent/group/worker_group.hpp"
#include "agent/group/workers.hpp"
#include "agent/membership/membership.hpp"
#include "agent/status/events.hpp"

namespace dlaunch::agent {

/// The agent's interface for its worker group.
class GroupOwner {
public:
    virtual void print(const std::string& text) = 0;               ///< prints a line
    virtual void print_unless_quiet(const std::string& text) = 0;  ///< prints a line, unless --quiet
    virtual void print_own(const std::string& text) = 0;           ///< the same about this node, which it names
    /// The guard has killed the workers because this process was frozen.
    [[nodiscard]] virtual bool is_fenced() const = 0;
    /// A signal that ends the job is pending and not yet read.
    [[nodiscard]] virtual bool is_asked_to_end() const = 0;

    virtual void on_started() = 0;  ///< all workers of the round run
    /// The round's first failure, before any worker is stopped.
    virtual void on_failure(const Failure& cause, Strength strength) = 0;
    virtual void on_lost(const Failure& failure) = 0;  ///< each failure that no stop has caused, at once
    virtual void on_round_over(const RoundResult& end) = 0;

protected:
    ~GroupOwner() = default;
};

/// Owned by the agent; runs on the control loop.
class GroupShell final : private WorkerObserver, private RoundControl {
public:
    /// `deps`, `events` and `owner` must outlive this object.
    GroupShell(const WorkerDeps& deps, EventLog& events, GroupOwner& owner);

    void begin(const Assignment& assignment);
    /// Sends the workers `received`, a signal that this dlaunch or another one of the job has received, or for 0 the
    /// plan's stop signal; SIGKILL follows after the grace. `why` is for the event log.
    void stop(int received, const std::string& why);
    /// Kills the workers at once.
    void kill(const std::string& why);
    /// About the stop that follows.
    void explain_stop(StopFor what);
    /// The job has reached its time limit: each worker that still runs is a cause.
    void time_out();
    /// A file timer has expired that `pid`, a worker or a worker's descendant, had set.
    void hang(pid_t pid, int signal, const std::string& scope);

    /// Sends the workers a signal that dlaunch has received.
    void forward(int signal) {
        await_sender(signal);
        workers_.signal(signal);
    }
    /// As LocalWorkers::has_been_sent().
    void has_been_sent(int signal) { workers_.has_been_sent(signal); }
    /// As LocalWorkers::give_terminal().
    bool give_terminal() { return workers_.give_terminal(); }
    /// Ctrl-Z stops the workers, fg continues them.
    void suspend();
    void resume();
    /// To be called on SIGCHLD. True: the worker that owns the terminal was stopped.
    bool on_child();

    [[nodiscard]] const LocalWorkers& workers() const { return workers_; }
    [[nodiscard]] const Assignment& assignment() const { return assignment_; }
    [[nodiscard]] std::string_view state() const { return name(group_.state()); }
    [[nodiscard]] bool unkillable() const { return group_.unkillable(); }
    /// Exits of workers are held, since an unread request to end may have caused them.
    [[nodiscard]] bool holds_ends() const { return group_.holds_ends(); }

private:
    using Event = std::function<void(base::Time now)>;

    // WorkerObserver
    void on_made(const Worker& worker) override;
    void on_executed(const Worker& worker) override;
    void on_not_started(const Worker& worker, const SpawnError& error) override;
    void on_unmade(const Worker& worker) override;
    void on_ended(Worker& worker) override;
    void on_template_ready() override;
    void on_template_refused(const SpawnError& error) override;
    void on_template_ended(const Template::End& end) override;
    // RoundControl
    void fail(int local_rank, const Verdict& verdict) override;
    void ready() override { start_waiting(); }

    void feed(Event event);
    void show_progress();
    void arm_timer();
    void perform(const GroupCommand& command);
    void start_when_ready(int local_rank);
    void make_folders();
    void end_wait_for_folders();
    [[nodiscard]] bool must_wait() const;
    void start_waiting();
    void cancel_start();
    void start(int local_rank);
    void start_template();
    void hint();
    void await_sender(int signal);
    void stop_workers(int signal);
    void kill_workers(GroupEvent because);
    void report_unkillable();
    void look_for_orphans();
    [[nodiscard]] std::size_t begin_clearing();
    void sweep();
    void drain();
    void finish(bool succeeded);
    [[nodiscard]] rendezvous::RankOutcomes outcomes() const;

    [[nodiscard]] bool message_matters(const Worker& worker) const;
    void look_for_message(const Worker& worker);
    void look_at_errors(std::function<void(const std::vector<EarlierErrors::Event>&)> done);
    [[nodiscard]] EarlierErrors::Event exit_of(int local_rank) const;
    [[nodiscard]] EarlierErrors::Event end_of(int local_rank, const Evidence& evidence) const;
    Strength judge_message(int local_rank);
    [[nodiscard]] bool lives(int rank) const;
    [[nodiscard]] bool is_unclear() const;
    void blame_stopped_rank();
    [[nodiscard]] Failure described_exit(int local_rank) const;
    void end_hung(int local_rank, pid_t pid, int signal);
    void announce();
    void add_failure(const GroupCommand& command);
    void add_early_exits();
    void add_evidence(Failure& failure) const;
    [[nodiscard]] Failure make_failure(const GroupCommand& command) const;
    [[nodiscard]] Failure describe(const Worker& worker) const;
    void complete(Failure& failure);
    void complete_failures();
    [[nodiscard]] LogSource source_of(const Failure& failure) const;

    const WorkerDeps& deps_;
    EventLog& events_;
    GroupOwner& owner_;
    LocalWorkers workers_;
    LastLook last_look_{deps_, workers_};
    WorkerGroup group_;
    Assignment assignment_;
    OomCounter memory_;
    std::int64_t memory_before_ = -1;
    std::vector<Failure> failures_;
    std::vector<std::string> remarks_;
    std::map<int, SpawnError> spawn_errors_;     ///< by local rank
    std::optional<SpawnError> template_error_;   ///< the reason why the template cannot be forked
    std::optional<Template::End> template_end_;  ///< of the latest template
    std::vector<LocalWorkers::Orphan> orphans_;  ///< found by the latest search
    std::map<int, Evidence> evidence_;           ///< by local rank
    EarlierErrors earlier_errors_{
        {.look = [this](auto done) { look_at_errors(std::move(done)); },
         .lives = [this](int rank) { return lives(rank); },
         .after = [this](auto duration, auto callback) { return deps_.loop.after(duration, std::move(callback)); }}};
    std::deque<Event> queue_;              ///< events that arrived while another was handled
    base::Time started_{}, stopped_at_{};  ///< stopped: base::Time::max(): not yet
    base::Timer timer_;
    std::optional<base::Time> timer_at_;
    bool handling_ = false, clearing_ = false;
    bool stacks_are_printed_ = false;  ///< the stop signal waits for them
    base::Timer stop_due_;
    std::map<int, base::Timer> hang_kills_;  ///< by local rank: the worker prints its stack first
    bool is_timed_out_ = false;
    bool looks_before_stop_ = false;    ///< where the workers are
    bool nodes_change_ = false;         ///< as StopFor::change
    int lost_nodes_ = 0;                ///< since the round began
    bool awaits_folders_ = false;       ///< the I/O thread makes the round's folders
    std::optional<int> to_be_started_;  ///< the worker or template that waits for its folder or a service
    base::Timer folders_due_;
};

}  // namespace dlaunch::agent
