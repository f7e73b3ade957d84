#pragma once
/// The coordinator's process, as its guard has it: forked from the guard, replaced when it dies or stands still. The
/// guard holds the listening sockets meanwhile, so that no member is refused.

#include <sys/types.h>

#include <initializer_list>
#include <span>

#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Runs in the coordinator's process; returns its exit status, see base::CoordinatorExit.
using CoordinatorMain = int (*)(const base::CoordinatorSeat&);

class CoordinatorChild {
public:
    explicit CoordinatorChild(CoordinatorMain main) : main_(main) {}

    /// Owns the descriptors from now on: the job, the record, and the listening sockets. An earlier seat is given up.
    void seat(std::span<const int> descriptors);
    /// Starts a process where one is due, and replaces one that stands still. `close_in_child` are the guard's own.
    void look(base::Time now, std::initializer_list<int> close_in_child);
    /// True: the process that was reaped was the coordinator's.
    bool reaped(pid_t pid, int how);
    /// Ends the process and closes the seat.
    void give_up();

    /// When to look again; base::Time::max(): no process is seated here.
    [[nodiscard]] base::Time due() const;
    [[nodiscard]] bool is_seated() const { return seat_.listener_count > 0; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const base::CoordinatorPage& page() const { return *seat_.page; }
    void signal(int number) const;
    /// In another child of the guard.
    void close_descriptors() const;

private:
    void start(base::Time now, std::initializer_list<int> close_in_child);
    void unseat();

    CoordinatorMain main_;
    base::CoordinatorSeat seat_;
    pid_t pid_ = 0;  ///< 0: none lives
    base::Time started_, start_at_, woken_by_ = base::Time::max();
    int quick_ends_ = 0;  ///< in a row
};

}  // namespace dlaunch::agent
