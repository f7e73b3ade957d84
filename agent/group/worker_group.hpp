#pragma once
/// The round of one node's worker group as a state machine without I/O: events with a time go in, commands come out.
///
/// The machine owns everything that decides: which worker starts when, whether an end is a failure or a consequence of
/// a stop, held ends, the grace, orphans, the template, suspension, the sweep and the last resort. Its shell
/// (group_shell.hpp) carries out the commands in their order and feeds the results back as events, never from within a
/// call to the machine. table.hpp holds the states; each state has one deadline, armed when the state is entered and
/// disarmed when it is left, so that no timer outlives its round.
///
/// Held ends: a request that ends every process of the job (systemd, `scancel`, Ctrl-C) may end workers before the
/// agent has read its own copy. A worker's end that looks like its consequence is held for kHeldFor; it counts as
/// collateral when the request arrives within that time, else as a failure.

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "agent/group/table.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Why a worker is in the list of failures.
enum class FailureKind : unsigned char {
    ended,             ///< in another way than with 0
    not_started,       ///< no process, or one that could not execute the program
    template_refused,  ///< the template cannot be forked; stands for any worker
    template_passed,   ///< the template exited with 0 instead of making this worker
    template_ended,    ///< the template ended in another way
    timed_out,         ///< it ran when the job's time was over
};

struct GroupCommand {
    enum class Kind : unsigned char {
        enter,              ///< `state` was entered because of `event`: write it down
        start_template,     ///< answer: template_ready(), template_refused() or template_ended()
        start,              ///< of `worker`; answer: see WorkerGroup::proceed()
        hint,               ///< the template has not reached its fork point for a long time
        started,            ///< all workers run
        fail,               ///< a failure of `worker` of kind `failure`: the next in the list of failures
        announce,           ///< the first failure stops the group: the job must know before any worker is stopped
        stop,               ///< `signal` to every living worker and to a template before its fork point
        kill,               ///< SIGKILL to every living worker and to its cgroup
        look_for_orphans,   ///< processes left in the groups of workers; answer: orphans()
        end_orphans,        ///< SIGTERM to the orphans
        signal,             ///< `signal` to every living worker and to the template; no request to end
        report_unkillable,  ///< living workers outlive SIGKILL
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
    bool collateral = false;  ///< a consequence of a stop or a fence, no cause
    bool succeeded = false;

    friend bool operator==(const GroupCommand&, const GroupCommand&) = default;
};

class WorkerGroup {
public:
    using Time = base::Time;
    using Command = GroupCommand;

    static constexpr std::size_t kStartingAtOnce = 4;  ///< between clone and exec: enough to keep other cores at work
    static constexpr auto kHeldFor = std::chrono::milliseconds(100);
    static constexpr auto kLongPreparation = std::chrono::seconds(10);  ///< of a template, before the user gets a hint
    static constexpr auto kUnkillable = std::chrono::seconds(10);  ///< after SIGKILL: the process hangs in the kernel
    static constexpr auto kSweepLimit = std::chrono::seconds(5);
    static constexpr auto kLookAgain = std::chrono::milliseconds(20);  ///< at the latest, while a sweep finds processes
    static constexpr auto kLookPause = std::chrono::milliseconds(2);   ///< at the earliest, however many children end

    struct Options {
        int stop_signal = 15;  ///< after a failure
        std::chrono::milliseconds grace{30'000};
        bool forks = false;  ///< workers are forks of a template
    };
    /// How a worker ended.
    struct End {
        bool well = false;      ///< it exited with 0
        bool may_hold = false;  ///< it looks like the consequence of a request that the agent has not read yet
        bool fenced = false;    ///< the guard has killed the workers
    };

    /// Tests give other tables, whose faults must show.
    explicit WorkerGroup(const Options& options, const GroupTable& table = kGroupTable)
        : options_(options), table_(table) {}

    [[nodiscard]] GroupState state() const { return state_; }
    /// The machine wants tick() at this time.
    [[nodiscard]] std::optional<Time> next_deadline() const;
    [[nodiscard]] bool holds_ends() const { return !held_.empty(); }
    [[nodiscard]] bool unkillable() const { return unkillable_; }
    [[nodiscard]] bool suspended() const { return suspended_; }
    /// What is to be done since the last call, in order.
    [[nodiscard]] std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

    // --- requests
    void assign(int workers, Time now);
    void stop(int signal, Time now);
    void kill(Time now);
    /// The job outlived its time: each worker that still runs is a cause.
    void time_out(Time now);
    void suspend();
    void resume();

    // --- answers to `start`, for each worker in this order: made, executed, ended; or not_started at the place of one
    /// The loop has had its turn since the last `start`: another may follow.
    void proceed(Time now);
    /// The worker has a process.
    void made(int worker);
    /// It runs its program.
    void executed(int worker, Time now);
    /// It could not be started, and has no process.
    void not_started(int worker, Time now);
    /// A fork that was ordered will not be made.
    void unmade(int worker, Time now);
    void ended(int worker, const End& end, Time now);

    // --- the template
    /// It has ended between two rounds.
    void template_gone() { template_ = TemplateState::absent; }
    void template_ready(Time now);
    void template_refused(Time now);
    struct TemplateEnd {
        bool well = false, at_fork_point = false, fenced = false;
    };
    void template_ended(const TemplateEnd& end, Time now);

    // --- the rest
    /// SIGCHLD: a descendant has ended.
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
        bool has_failed = false;  ///< it is in the list of failures
        [[nodiscard]] bool lives() const { return phase != Phase::unstarted && phase != Phase::over; }
    };
    struct Held {
        int worker;
        End end;
    };
    enum class TemplateState : unsigned char { absent, preparing, ready };

    void feed(GroupEvent event, Time now);
    void act(GroupAction action, GroupState before, GroupEvent event, Time now);
    void enter(GroupState next, GroupEvent because);
    void start_more(Time now);
    void judge(const Held& held, bool excused, Time now);
    void release_held(bool excused, Time now);
    void fail(int worker, FailureKind kind, bool collateral);
    void mark_asked();
    void drain();
    void settle(Time now);
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
    std::optional<Time> deadline_;    ///< of the state
    std::optional<Time> look_again_;  ///< in clearing: the next sweep
    std::optional<Time> held_until_;
    std::vector<Worker> workers_;
    std::deque<Held> held_;
    std::vector<Command> commands_;
    TemplateState template_ = TemplateState::absent;
    Time last_sweep_{};
    int stop_signal_ = 0;
    bool suspended_ = false, unkillable_ = false;
    bool may_start_ = false;        ///< the turn after the last `start` is over
    bool template_is_new_ = false;  ///< it was started in this round
    bool looking_ = false, orphans_asked_ = false;
    bool sweeping_ = false;  ///< in clearing: before the drain
};

}  // namespace dlaunch::agent
