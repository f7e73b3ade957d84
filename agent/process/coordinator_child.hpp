#pragma once
/// The guard's side of the coordinator process: forks it, and replaces it when it dies or stalls. The guard keeps the
/// listening sockets open, so that no dial is refused meanwhile.

#include <sys/types.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <span>

#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Runs in the coordinator process; returns its exit status, see base::CoordinatorExit.
using CoordinatorMain = int (*)(const base::CoordinatorSeat&);

class CoordinatorChild {
public:
    explicit CoordinatorChild(CoordinatorMain main) : main_(main) {}

    /// Takes ownership of the descriptors: job, record, listening sockets. Gives up an earlier seat.
    void seat(std::span<const int> descriptors);
    /// Starts a process if one is due, replaces one that stalls, and gives up one that cannot exit. The child closes
    /// `close_in_child`, the guard's own descriptors.
    void look(base::Time now, std::initializer_list<int> close_in_child);
    /// After a child was reaped. True: it was the coordinator.
    bool reaped(pid_t pid, int how);
    /// Kills the process and closes the seat's descriptors.
    void give_up();

    /// When to call look() again; base::Time::max(): there is no seat.
    [[nodiscard]] base::Time due() const;
    [[nodiscard]] bool is_seated() const { return seat_.listener_count > 0; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] int record() const { return seat_.record; }
    [[nodiscard]] const base::CoordinatorPage& page() const { return *seat_.page; }
    /// Exit status of the job if a coordinator of this guard has ended it.
    [[nodiscard]] std::optional<int> verdict() const {
        return seat_.page && page().is_over ? std::optional(page().status.load()) : std::nullopt;
    }
    void signal(int number) const;
    /// For the process, and its successors.
    void no_more_hosts() const {
        if (seat_.page) seat_.page->no_more_hosts = true;
    }
    /// For other children of the guard.
    void close_descriptors() const;

private:
    void start(base::Time now, std::initializer_list<int> close_in_child);
    [[nodiscard]] bool may_start() const;
    void unseat();

    CoordinatorMain main_;
    base::CoordinatorSeat seat_;
    pid_t pid_ = 0;                  ///< 0: none lives
    std::array<pid_t, 2> killed_{};  ///< stalled and killed, but not reaped: a call on a disk may hold up the exit
    base::Time started_, start_at_, woken_by_ = base::Time::max();
    int quick_ends_ = 0;  ///< quick ends in a row
};

}  // namespace dlaunch::agent
