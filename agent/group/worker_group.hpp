#pragma once
/// The round of one node's worker group as a state machine without I/O. Input: events with a time; output: commands.
///
/// The machine makes all decisions: when each worker starts, whether an exit is a failure or a consequence of a stop,
/// held exits, the grace, orphans, the template, suspension, the sweep and SIGKILL. The shell (group_shell.hpp) carries
/// out the commands in their order and feeds the results back as events, never from within a call to the machine.
/// table.hpp holds the states. Each state has one deadline; a change of state disarms it, so that no timer outlives its
/// round.
///
/// Lost peers: a rank that closes its connections before it exits makes its peers fail first. After the first exit
/// whose message reports a lost peer the machine waits for a better cause, for Options::settle or until all workers
/// have exited, before it stops the other workers. Any other failure stops all workers at once.
///
/// Held exits: a request to end that every process of the job receives (systemd, `scancel`, Ctrl-C) may end workers
/// before the agent has read its own copy. The machine holds an exit that may be such a consequence for kHeldFor. The
/// exit counts as collateral when the request arrives within that time, else as a failure. The machine also holds an
/// exit until the shell has read the worker's message, at most for kMessageWithin. Exits behind a held one wait, too,
/// so that all are judged in their order.

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "agent/group/table.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The reason why a worker is in the list of failures.
enum class FailureKind : unsigned char {
    ended,             ///< exited with a status other than 0, or died of a signal
    not_started,       ///< no process could be made, or it could not execute the program
    template_refused,  ///< the template cannot be forked; recorded for worker 0
    template_passed,   ///< the template exited with 0 instead of making this worker
    template_ended,    ///< the template exited with another status or died of a signal
    timed_out,         ///< the worker still ran at the job's time limit
    judged,            ///< a service has found it to be the cause of a failure
};

struct GroupCommand {
    enum class Kind : unsigned char {
        enter,              ///< `event` led to `state`: log the change
        start_template,     ///< answer: template_ready(), template_refused() or template_ended()
        start,              ///< of `worker`; answer: see WorkerGroup::proceed()
        hint,               ///< the template has not reached its fork point within kLongPreparation
        started,            ///< all workers run
        fail,               ///< append a failure of `worker`, of kind `failure`, to the list of failures
        collect,            ///< events for the exits that have happened: those workers are not stopped any more
        announce,           ///< the first failure stops the group: report it to the job before any worker is stopped
        stop,               ///< `signal` to every living worker and to a template before its fork point
        kill,               ///< SIGKILL to every living worker and to its cgroup
        look_for_orphans,   ///< processes left in the groups of workers; answer: orphans()
        end_orphans,        ///< SIGTERM to the orphans
        signal,             ///< `signal` to every living worker and to the template; no request to end
        report_unkillable,  ///< workers have survived SIGKILL
        cut_drain,          ///< the drain ends now
        sweep,              ///< SIGKILL to every descendant but the template; answer: swept()
        drain,              ///< read the workers' pipes to their ends; answer: drained()
        finish,             ///< the round is over, `succeeded` or not
    };
    Kind kind = Kind::enter;
    GroupState state = GroupState::idle;
    GroupEvent event = GroupEvent::assigned;
    int worker = -1;  ///< local rank
    int signal = 0;
    FailureKind failure = FailureKind::ended;
    bool collateral = false;  ///< a consequence of a stop or a fence, not a cause
    bool succeeded = false;

    friend bool operator==(const GroupCommand&, const GroupCommand&) = default;
};

class WorkerGroup {
public:
    using Time = base::Time;
    using Command = GroupCommand;

    static constexpr std::size_t kStartingAtOnce = 16;  ///< workers between clone and the known result of exec
    static constexpr auto kHeldFor = std::chrono::milliseconds(100);
    static constexpr auto kMessageWithin = std::chrono::milliseconds(500);  ///< else the failure counts as any other
    static constexpr auto kLongPreparation = std::chrono::seconds(10);  ///< of a template, until the hint is printed
    static constexpr auto kUnkillable =
        std::chrono::seconds(10);  ///< after SIGKILL: a process alive after this hangs in the kernel
    static constexpr auto kSweepLimit = std::chrono::seconds(5);
    static constexpr auto kLookAgain =
        std::chrono::milliseconds(20);  ///< longest pause between sweeps that find processes
    static constexpr auto kLookPause = std::chrono::milliseconds(2);  ///< shortest pause, however many children exit

    struct Options {
        int stop_signal = 15;  ///< after a failure
        std::chrono::milliseconds grace{30'000};
        std::chrono::milliseconds settle{1'000};  ///< the wait for a better cause than a lost peer; 0: none
        bool forks = false;                       ///< workers are forks of a template
    };
    /// The exit of a worker.
    struct End {
        bool well = false;             ///< it exited with 0
        bool may_hold = false;         ///< may be the consequence of a request that the agent has not read yet
        bool fenced = false;           ///< the guard has killed the workers
        bool asked = false;            ///< the process was alive when the agent sent its stop signal
        bool lost_peer = false;        ///< known without the message: the worker wrote to a closed connection
        bool message_follows = false;  ///< message() tells whether the worker lost a peer
    };

    /// Tests pass mutated tables and check that each fault is detected.
    explicit WorkerGroup(const Options& options, const GroupTable& table = kGroupTable)
        : options_(options), table_(table) {}

    [[nodiscard]] GroupState state() const { return state_; }
    /// The time at which tick() is due.
    [[nodiscard]] std::optional<Time> next_deadline() const;
    [[nodiscard]] bool holds_ends() const { return !held_.empty(); }
    [[nodiscard]] bool unkillable() const { return unkillable_; }
    [[nodiscard]] bool suspended() const { return suspended_; }
    /// Whether judged() has an effect: no stop has begun.
    [[nodiscard]] bool heeds_verdicts() const { return is_before_stop(); }
    /// Whether an exit can still be the reason for a stop.
    [[nodiscard]] bool is_before_stop() const {
        return is(GroupState::starting) || is(GroupState::running) || is(GroupState::settling);
    }
    /// The commands since the last call, in order.
    [[nodiscard]] std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

    // --- requests
    /// `has_peers`: other nodes run workers of this round.
    void assign(int workers, Time now, bool has_peers = false);
    void stop(int signal, Time now);
    void kill(Time now);
    /// The job has reached its time limit: each worker that still runs is a cause.
    void time_out(Time now);
    void suspend();
    void resume(Time now);

    // --- answers to `start`, per worker in this order: made, executed, ended; not_started replaces made or executed
    /// A turn of the loop has passed since the last `start`: the next one may follow.
    void proceed(Time now);
    /// The worker has a process.
    void made(int worker);
    /// The worker runs its program.
    void executed(int worker, Time now);
    /// The worker could not be started and has no process.
    void not_started(int worker, Time now);
    /// The template will not make a fork that was ordered.
    void unmade(int worker, Time now);
    void ended(int worker, const End& end, Time now);
    /// The message of a worker whose End::message_follows.
    void message(int worker, bool lost_peer, Time now);
    /// The worker is the cause of a failure, whether it runs or not. No effect once it was asked to stop.
    void judged(int worker, Time now);

    // --- the template
    /// The template has exited between two rounds.
    void template_gone() { template_ = TemplateState::absent; }
    void template_ready(Time now);
    void template_refused(Time now);
    struct TemplateEnd {
        bool well = false, at_fork_point = false, fenced = false;
    };
    void template_ended(const TemplateEnd& end, Time now);

    // --- the rest
    /// SIGCHLD: a descendant has exited.
    void child(Time now);
    void orphans(std::size_t living, Time now);
    void swept(std::size_t living, Time now);
    void drained(Time now);
    void tick(Time now);

private:
    enum class Phase : unsigned char { unstarted, ordered, made, running, over };
    struct Worker {
        Phase phase = Phase::unstarted;
        bool asked_to_stop = false;
        bool has_failed = false;  ///< the worker is in the list of failures
        [[nodiscard]] bool lives() const { return phase != Phase::unstarted && phase != Phase::over; }
    };
    struct Held {
        int worker;
        End end;
        bool after_request = false;  ///< this exit, or one before it, may be the consequence of a request
        Time until{};                ///< the latest time for the message
    };
    enum class TemplateState : unsigned char { absent, preparing, ready };

    void feed(GroupEvent event, Time now);
    void act(GroupAction action, GroupState before, GroupEvent event, Time now);
    void enter(GroupState next, GroupEvent because);
    void start_more(Time now);
    void judge(const Held& held, bool excused, Time now);
    void release_ready(Time now);
    void release_for_stop(Time now);
    [[nodiscard]] std::optional<Time> held_until() const;
    [[nodiscard]] std::size_t next_held() const;
    [[nodiscard]] bool is_settled_later(const Held& held) const;
    void go_on(Time now);
    void fail(int worker, FailureKind kind, bool collateral);
    void mark_asked();
    void drain();
    void move_on(Time now);
    void sweep(Time now);
    [[nodiscard]] bool none_left() const;
    [[nodiscard]] std::size_t count(Phase phase) const;
    [[nodiscard]] int first_without_process() const;
    [[nodiscard]] bool none_made() const;
    [[nodiscard]] bool is(GroupState state) const { return state_ == state; }
    [[nodiscard]] Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
    void command(const Command& command) { commands_.push_back(command); }

    Options options_;
    const GroupTable& table_;
    GroupState state_ = GroupState::idle;
    std::optional<Time> deadline_;       ///< of the current state
    std::optional<Time> look_again_;     ///< in clearing: the next sweep
    std::optional<Time> request_until_;  ///< exits that may be consequences of a request are held until then
    std::vector<Worker> workers_;
    std::deque<Held> held_;
    std::vector<Command> commands_;
    TemplateState template_ = TemplateState::absent;
    Time last_sweep_{};
    int stop_signal_ = 0;
    bool suspended_ = false, unkillable_ = false;
    bool has_peers_ = false;
    bool may_start_ = false;        ///< a turn of the loop has passed since the last `start`
    bool template_is_new_ = false;  ///< the template was started in this round
    bool looking_ = false, orphans_asked_ = false;
    bool sweeping_ = false;  ///< in clearing: before the drain
};

}  // namespace dlaunch::agent
