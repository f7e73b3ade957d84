#include "agent/waiting_task.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <csignal>
#include <optional>
#include <utility>

#include "agent/process/status_socket.hpp"
#include "rendezvous/base/end_signals.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;

constexpr auto kAgentMayTake = std::chrono::seconds(60);  // to its start: a script may run before dlaunch
constexpr int kTryAgainMs = 20;
constexpr int kKilled = exit_status::kSignalBase + SIGKILL;

/// The first signal of the set that ends a job; 0: none does.
int end_signal_in(const sigset_t& set) {
    for (const int number : base::kEndSignals)
        if (sigismember(&set, number) == 1) return number;
    return 0;
}

class WaitingTask {
public:
    WaitingTask(const TaskPlan& task, GuardLink link) : task_(task), link_(std::move(link)) {}

    /// Returns when a result is there.
    int run() {
        while (!result_) {
            if (!connection_) connect();
            wait();
        }
        return *result_;
    }

private:
    void connect();
    void wait();
    void read_signals();
    void read_answer();
    void refuse(const base::Error& error) {
        link_.announce_end(error.status, error.text);
        result_ = error.status;
    }

    const TaskPlan& task_;
    GuardLink link_;
    base::Time give_up_at_ = base::Clock::now() + kAgentMayTake;
    bool was_connected_ = false;  ///< the guard sends signals here, and does not end this task by itself
    int signals_ = 0;
    UniqueFd connection_;
    std::optional<int> result_;
};

void WaitingTask::connect() {
    auto made = connect_to_status(task_.socket, task_.index);
    if (!made) return refuse(made.error());
    connection_ = std::move(*made);
    if (connection_ && !std::exchange(was_connected_, true)) link_.ready(true);
    if (connection_ || base::Clock::now() < give_up_at_) return;
    refuse({fmt::format("the first task of this node has not started dlaunch within {} s (socket {}), expected srun "
                        "dlaunch with the same options in all tasks",
                        kAgentMayTake.count(), task_.socket),
            exit_status::kRendezvousTimeout});
}

void WaitingTask::wait() {
    if (result_) return;
    pollfd what[] = {{link_.fd(), POLLIN, 0}, {connection_.get(), POLLIN, 0}};
    poll(what, 2, connection_ ? -1 : kTryAgainMs);
    if (what[1].revents != 0) read_answer();
    if (what[0].revents != 0) read_signals();
}

void WaitingTask::read_signals() {
    const GuardLink::Received received = link_.receive();
    if (received.kind == GuardLink::Kind::guard_died) result_ = kKilled;
    const int number = received.kind == GuardLink::Kind::signals ? end_signal_in(received.signals) : 0;
    if (number != 0 && (++signals_ == 2 || !connection_)) result_ = exit_status::kSignalBase + number;
}

void WaitingTask::read_answer() {
    using Kind = StatusAnswer::Kind;
    const StatusAnswer answer = read_status(connection_.get());
    switch (answer.kind) {
        case Kind::nothing: return;
        case Kind::status: result_ = answer.status; return;
        case Kind::died: result_ = kKilled; return;
        case Kind::later: break;
    }
    connection_.reset();
    give_up_at_ = base::Clock::now() + kAgentMayTake;
    poll(nullptr, 0, kTryAgainMs);
}

}  // namespace

base::Result<void> share_status(const TaskPlan& tasks, GuardLink& link) {
    if (tasks.count == 1 || link.hosts_coordinator()) return {};
    auto listener = open_status_socket(tasks.socket);
    if (!listener) return listener.error();
    link.share_status(listener->get(), tasks.count);
    return {};
}

int run_waiting_task(const TaskPlan& task, GuardLink link) { return WaitingTask(task, std::move(link)).run(); }

}  // namespace dlaunch::agent
