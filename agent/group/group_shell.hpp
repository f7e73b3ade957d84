#pragma once
/// One round on this node: feeds the table of table.hpp with what happens and carries out what it says.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/errors/memory.hpp"
#include "agent/group/held_ends.hpp"
#include "agent/group/table.hpp"
#include "agent/group/workers.hpp"
#include "agent/membership/membership.hpp"
#include "agent/status/events.hpp"

namespace dlaunch::agent {

class NodeRound {
public:
    struct Reporting {
        EventLog& events;
        std::function<void(const std::string&)> say;      ///< a line for the user, always
        std::function<void(const std::string&)> mention;  ///< a line that --quiet keeps back
        std::function<bool()> fenced;                     ///< the guard has killed the workers while we stood still
        std::function<bool()> asked;                      ///< to end, by a signal that has not been read yet
    };
    struct Listener {
        std::function<void(const Failure&)> failed;  ///< the first failure, before anybody is stopped
        std::function<void(const RoundEnd&)> over;   ///< nobody lives; the round can be followed by another
        std::function<void(pid_t)> reaped;           ///< a worker's pid is free for others
        std::function<void(const Failure&)> lost;    ///< any that nobody had asked to end, at once
        std::function<void()> started = nullptr;     ///< all workers of the round have been started
    };

    NodeRound(LocalWorkers::Surroundings surroundings, Reporting reporting, Listener listener);

    void begin(const Assignment& assignment);

    /// Asks the workers to end with `signal`; SIGKILL follows after the grace. In words, `why` goes to the event log.
    void stop(int signal, const std::string& why);
    /// Ends them at once.
    void kill(const std::string& why);
    /// The job outlived its time: every worker that still runs is a cause.
    void time_out();
    /// A deadline that a worker had set itself has passed (torch's file timer).
    void hang(pid_t pid, int signal, const std::string& scope);

    void forward(int signal) { workers_.signal(signal); }
    /// Ctrl-Z and fg: the workers stand still and go on.
    void suspend();
    void resume();
    /// SIGCHLD. True when the worker that owns the terminal was stopped there.
    bool on_child();

    [[nodiscard]] const LocalWorkers& workers() const { return workers_; }
    [[nodiscard]] const Assignment& assignment() const { return assignment_; }
    [[nodiscard]] std::string_view state() const { return name(group_.state()); }
    [[nodiscard]] bool unkillable() const { return unkillable_; }
    /// Of workers that were asked to end, it seems, when we were not yet.
    [[nodiscard]] bool holds_ends() const { return !held_.empty(); }

private:
    void feed(GroupEvent event);
    void start_next();
    void go_on_starting();
    void on_template_ready();
    void on_template_refused(const SpawnError& error);
    void on_template_ended(const Template::End& end);
    [[nodiscard]] bool may_start();
    void on_started(const Worker& worker);
    void on_not_started(const Worker& worker, const SpawnError& error);
    void on_end(Worker& worker);
    [[nodiscard]] bool may_be_asked(const Worker& worker) const;
    void judge(const Worker& worker);
    void ask_to_stop();
    void kill_all(GroupEvent why);
    void give_up_on_unkillable();
    void clear();
    void finish(bool began);
    void note_if_none_left();
    bool wait_for_orphans();

    [[nodiscard]] Failure failure_of(const Worker& worker) const;
    [[nodiscard]] Failure failure_of(const Worker& worker, const SpawnError& error) const;
    [[nodiscard]] Failure failure_of(const Worker& worker, const Template::End& end) const;
    [[nodiscard]] Failure about(const Worker& worker) const;
    void complete(Failure& failure);
    void add_failure(Failure failure);

    LocalWorkers::Surroundings around_;
    Reporting reporting_;
    Listener listener_;
    LocalWorkers workers_;
    WorkerGroup group_;
    Assignment assignment_;
    HeldEnds held_;
    OomCounter memory_;
    std::int64_t memory_before_ = -1;
    std::vector<Failure> failures_;
    std::vector<std::string> remarks_;
    base::Time started_{};
    base::Timer grace_, last_resort_, hint_;
    int next_to_start_ = 0, next_to_settle_ = 0;
    int stop_signal_ = 0;
    bool none_left_told_ = false, orphans_told_ = false, suspended_ = false, unkillable_ = false,
         pending_start_ = false;
};

}  // namespace dlaunch::agent
