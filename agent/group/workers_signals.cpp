// The half of LocalWorkers that signals processes.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "agent/group/workers.hpp"
#include "agent/process/pidfd.hpp"
#include "agent/process/proc.hpp"
#include "agent/process/sweep.hpp"

namespace dlaunch::agent {
namespace {

/// As in the masks of proc(5).
std::uint64_t bit_of(int number) { return std::uint64_t{1} << (number - 1); }

}  // namespace

/// A worker that does not run its program yet may not lead a group: signal only the process.
void LocalWorkers::send(Worker& worker, int number) {
    const bool leads_group = !worker.forking && !worker.spawning;
    ::kill(leads_group ? -worker.pid : worker.pid, number);
    if (leads_group) note_told(worker, number);
}

void LocalWorkers::note_told(Worker& worker, int number) {
    worker.told |= bit_of(number);
    worker.told_at = since_boot();
}

void LocalWorkers::signal(int number) {
    take_results();
    if (deps_.program && (number == SIGSTOP || number == SIGCONT)) deps_.program->signal(number);
    send_once(number, number);
}

void LocalWorkers::send_to_all(int number) {
    for (Worker& worker : workers_)
        if (worker.alive) send(worker, number);
}

void LocalWorkers::await_sender(int number) {
    shared_.requested(number, base::Clock::now());
    awaits_any_end_ = number == SharedSignals::kAnyEnd;
}

void LocalWorkers::send_once(int number, int awaited) {
    const base::Time now = base::Clock::now();
    const auto due = shared_.due(awaited, now);
    if (due && *due > now)
        awaiting_sender_[awaited].push_back(deps_.loop.after(*due - now, [this, number, awaited] {
            awaiting_sender_[awaited].pop_front();
            send_to_all(number);
            shared_.sent_by_agent(number, base::Clock::now());
        }));
    else if (due)
        send_to_all(number);
}

/// To every process of the job, whether its worker lives or not.
void LocalWorkers::has_been_sent(int number) {
    for (Worker& worker : workers_) note_told(worker, number);
    const auto& ending = deps_.plan.handled_signals;
    const bool ends = std::ranges::find(ending, number) != ending.end();
    const bool answers_end = ends && answer(SharedSignals::kAnyEnd);
    if (!answer(number) && !answers_end) shared_.sent(number, base::Clock::now());
}

/// False: nothing waits for it.
bool LocalWorkers::answer(int awaited) {
    auto& awaiting = awaiting_sender_[awaited];
    if (awaiting.empty()) return false;
    awaiting.pop_front();
    return true;
}

bool LocalWorkers::ask_for_stacks(int stop_signal) const {
    bool any = false;
    for (const Worker& worker : workers_) any = ask_for_stack(worker, stop_signal) || any;
    return any;
}

bool LocalWorkers::ask_for_stack(const Worker& worker, int stop_signal) const {
    if (!worker.alive || worker.forking || worker.spawning || !proc_is_ours()) return false;
    const std::uint64_t handled = handled_signals_of(worker.pid);
    const auto handles = [handled](int number) { return (handled >> (number - 1) & 1) != 0; };
    // Python's faulthandler catches both; Open MPI catches SIGABRT, too, and prints nothing of use then.
    const bool prints_stack = handles(SIGABRT) && handles(SIGILL) && !handles(stop_signal);
    const int number = handles(SIGUSR1) ? SIGUSR1 : prints_stack ? SIGABRT : 0;
    return number != 0 && ::kill(worker.pid, number) == 0;
}

void LocalWorkers::stop(int number) {
    if (deps_.program) deps_.program->stop(number);
    cancel_unmade();
    await_results(workers_.size());  // a worker that runs its program may have a handler for the signal
    for (Worker& worker : workers_)
        if (worker.alive) worker.asked_to_stop = true;
    send_once(number, std::exchange(awaits_any_end_, false) ? SharedSignals::kAnyEnd : number);
    send_to_all(SIGCONT);
}

/// A process of the worker's group has received SIGTERM, or another request to end that it handles. Processes that a
/// shell runs in the background ignore SIGINT, and a handler may have started some since.
bool LocalWorkers::is_told(const Worker& worker, pid_t pid, const ProcessStat& stat) const {
    constexpr auto kSteps = std::chrono::milliseconds(20);  // of ProcessStat::started, and more
    if (stat.started + kSteps > worker.told_at) return false;
    std::uint64_t others = bit_of(deps_.plan.stop_signal);
    for (const int number : deps_.plan.handled_signals) others |= bit_of(number);
    others &= ~bit_of(SIGTERM) & worker.told;
    return (worker.told & bit_of(SIGTERM)) != 0 || (others != 0 && (others & handled_signals_of(pid)) != 0);
}

/// For a /proc without processes. An unreaped child in a group keeps the group's number from reuse.
std::vector<LocalWorkers::Orphan> LocalWorkers::groups_with_orphans() const {
    std::vector<Orphan> found;
    for (const Worker& worker : workers_) {
        siginfo_t info{};
        if (worker.alive || worker.pid == 0) continue;
        if (waitid(P_PGID, static_cast<id_t>(worker.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
            found.push_back({.pid = -worker.pid});
    }
    return found;
}

std::vector<LocalWorkers::Orphan> LocalWorkers::orphans() const {
    if (!proc_is_ours()) return groups_with_orphans();
    std::vector<Orphan> found;
    for (pid_t pid : descendants()) {
        const pid_t group = getpgid(pid);
        const auto worker = std::ranges::find_if(
            workers_, [group](const Worker& each) { return !each.alive && each.pid != 0 && each.pid == group; });
        if (worker == workers_.end()) continue;
        base::UniqueFd pidfd = open_pidfd(pid);
        if (getpgid(pid) != group) continue;  // the pidfd may be that of a process with a reused number
        const auto stat = stat_of(pid);       // a zombie that its parent has not reaped does not count
        if (stat && stat->state != 'Z' && stat->state != 'X')
            found.push_back({.pid = pid, .pidfd = std::move(pidfd), .is_told = is_told(*worker, pid, *stat)});
    }
    return found;
}

void LocalWorkers::end_orphans() {
    const auto end = [this] {
        for (const Orphan& orphan : orphans()) {
            if (!orphan.is_told) orphan.signal(SIGTERM);
            orphan.signal(SIGCONT);
        }
    };
    if (deps_.plan.host.is_set("SLURM_JOB_ID"))
        orphans_due_ = deps_.loop.after(SharedSignals::kSenderMayTake, end);
    else
        end();
}

void LocalWorkers::kill() {
    awaits_any_end_ = false;
    stop(SIGKILL);
    deps_.cgroups.kill_all();
}

}  // namespace dlaunch::agent
