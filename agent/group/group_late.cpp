// The part of GroupShell that ends workers for being late: at the time limit, and at an expired timer of their own.
// LastLook records their state first, because the stop makes them print more.

#include <csignal>
#include <utility>
#include <vector>

#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kPrintStacks = std::chrono::milliseconds(200);

}  // namespace

void GroupShell::time_out() {
    if (std::exchange(is_timed_out_, true)) return;  // the coordinator's order follows this node's own limit
    events_.write("stop_requested", {{"why", "--timeout"}});
    std::vector<int> all;
    for (const Worker& worker : workers_.all()) all.push_back(worker.local_rank);
    last_look_.take(all, [this] {
        stacks_are_printed_ = workers_.ask_for_stacks(deps_.plan.stop_signal);
        feed([this](base::Time now) { group_.time_out(now); });
    });
}

void GroupShell::hang(pid_t pid, int signal, const std::string& scope) {
    Worker* const owner = workers_.owner_of(pid);
    if (!owner || owner->hung) return;
    owner->hung = true;
    owner->hung_in = scope;
    events_.write(
        "worker_hung",
        {{"rank", std::int64_t{owner->rank}}, {"pid", std::int64_t{pid}}, {"scope", std::string_view(scope)}});
    last_look_.take({owner->local_rank}, [this, local = owner->local_rank, pid, signal] {
        const Worker& worker = workers_.all()[static_cast<std::size_t>(local)];
        if (!workers_.ask_for_stack(worker, deps_.plan.stop_signal)) return end_hung(local, pid, signal);
        hang_kills_[local] =
            deps_.loop.after(kPrintStacks, [this, local, pid, signal] { end_hung(local, pid, signal); });
    });
}

void GroupShell::end_hung(int local_rank, pid_t pid, int signal) {
    const Worker& worker = workers_.all()[static_cast<std::size_t>(local_rank)];
    if (!worker.alive) return;
    for (const pid_t target : {-worker.pid, pid}) {  // `pid` may have left the group
        ::kill(target, SIGCONT);
        ::kill(target, signal);
    }
}

/// A pending stop signal without a handler would end a worker before its handler for stacks runs.
void GroupShell::stop_workers(int signal) {
    if (!std::exchange(stacks_are_printed_, false)) return workers_.stop(signal);
    stop_due_ = deps_.loop.after(kPrintStacks, [this, signal] { workers_.stop(signal); });
}

}  // namespace dlaunch::agent
