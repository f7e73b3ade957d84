#include "agent/group/workers.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "agent/mpi/foreign_variables.hpp"
#include "agent/process/pidfd.hpp"
#include "agent/process/proc.hpp"
#include "agent/process/program_paths.hpp"
#include "rendezvous/base/host.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kResultsSoon = std::chrono::milliseconds(200);
constexpr auto kFirstLook = std::chrono::milliseconds(2), kLongestPause = std::chrono::milliseconds(100);

bool is_set_by(const Variables& variables, std::string_view entry) {
    const std::string_view name = entry.substr(0, entry.find('='));
    for (const auto& variable : variables)
        if (variable.first == name) return true;
    return false;
}

std::vector<std::string> entries_of(const Variables& variables) {
    std::vector<std::string> entries;
    entries.reserve(variables.size());
    for (const auto& [name, value] : variables) entries.push_back(fmt::format("{}={}", name, value));
    return entries;
}

/// dlaunch's environment without other starters' variables: a worker is no rank of an outer job.
std::vector<std::string> inherited_entries(const Plan& plan) {
    Variables variables = plan.host.environment;
    std::erase_if(variables, [](const auto& variable) { return is_of_other_starter(variable.first); });
    return entries_of(variables);
}

}  // namespace

int Worker::exit_status() const { return code == CLD_EXITED ? status : 128 + status; }

LocalWorkers::LocalWorkers(const WorkerDeps& deps, WorkerObserver& observer)
    : deps_(deps), observer_(observer), inherited_(inherited_entries(deps.plan)) {
    if (deps_.program) deps_.program->observe(*this);
}

void LocalWorkers::begin(const Assignment& assignment) {
    assignment_ = assignment;
    next_look_ = {};
    results_due_.reset();
    awaiting_sender_.clear();
    awaits_any_end_ = false;
    orphans_due_ = {};
    workers_.clear();
    workers_.resize(static_cast<std::size_t>(assignment.ranks.workers()));
    for (Worker& worker : workers_) {
        worker.local_rank = static_cast<int>(&worker - workers_.data());
        worker.rank = assignment.ranks.rank(worker.local_rank);
    }
}

void LocalWorkers::keep_terminal_output(SpawnRequest& request, int local_rank) const {
    const LogPlan& logs = deps_.plan.logs;
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        const unsigned bit = stream == STDOUT_FILENO ? kStdout : kStderr;
        const bool shown = !logs.shown || logs.shown->contains(local_rank);
        if (shown && !((logs.redirects.of(local_rank) | logs.tee.of(local_rank)) & bit) && isatty(stream))
            request.files[static_cast<std::size_t>(stream)] = -1;
    }
}

SpawnRequest LocalWorkers::request(Worker& worker, const OutputEnds& ends, const Contribution& contribution) const {
    SpawnRequest request;
    request.arguments = worker_command(deps_.plan, assignment_, worker.local_rank);
    const std::string error_file = deps_.output.paths().error_file(source_of(worker));
    Variables variables = worker_variables(deps_.plan, assignment_, deps_.node, worker.local_rank, error_file);
    for (const auto& [name, value] : contribution.variables) set_variable(variables, name, value);
    set_variables(request, variables);
    request.files = {contribution.input, ends.out.get(), ends.err.get()};
    request.kept = contribution.inherited;
    request.working_directory = deps_.plan.context_of(worker.local_rank).program.working_directory;
    request.open_files = deps_.open_files;
    if (contribution.terminal) {
        request.terminal = STDIN_FILENO;
        request.foreground = deps_.terminal.usable();
        keep_terminal_output(request, worker.local_rank);
    }
    const auto index = static_cast<std::size_t>(worker.local_rank);
    if (index < deps_.processors.size()) request.processors = deps_.processors[index];
    return request;
}

void LocalWorkers::set_variables(SpawnRequest& request, const Variables& variables) const {
    for (const std::string& entry : inherited_)
        if (!is_set_by(variables, entry)) request.inherited.push_back(entry.c_str());
    request.variables = entries_of(variables);
}

LogSource LocalWorkers::source_of(const Worker& worker) const {
    return {worker.rank, worker.local_rank, assignment_.group_rank, assignment_.round};
}

LogSource LocalWorkers::next_template_source() const {
    return {assignment_.ranks.rank(0), LogSource::kTemplate, assignment_.group_rank, assignment_.round};
}

void LocalWorkers::start(int local_rank) {
    take_results();
    Worker& worker = at(local_rank);
    auto ends = deps_.output.add_worker(source_of(worker));
    if (!ends) return observer_.on_not_started(worker, {.step = ends.error().text, .permanent = true});
    Contribution contribution;
    for (RoundService* service : deps_.services) service->contribute(assignment_, local_rank, contribution);
    if (!contribution.refusal.empty()) return observer_.on_not_started(worker, {.step = contribution.refusal});
    SpawnRequest wanted = request(worker, *ends, contribution);
    worker.writes_to_terminal = wanted.files[STDERR_FILENO] < 0;
    const base::UniqueFd cgroup = deps_.cgroups.open_worker(assignment_.round, local_rank);
    wanted.cgroup = cgroup.get();
    if (deps_.program) {
        if (const auto error = fork(worker, wanted)) observer_.on_not_started(worker, *error);
        return;
    }
    set_program(wanted, deps_.plan.context_of(local_rank));
    auto outcome = Spawning::begin(std::move(wanted));
    if (auto* error = std::get_if<SpawnError>(&outcome)) return observer_.on_not_started(worker, with_hint(*error));
    worker.spawning = std::move(std::get<Spawning>(outcome));
    worker.pid = worker.spawning->pid();
    worker.pidfd = worker.spawning->take_pidfd();
    worker.has_terminal = contribution.terminal;
    watch(worker);
    if (!next_look_ || pause_ > kFirstLook) look_for_results(kFirstLook);
    observer_.on_made(worker);
}

void LocalWorkers::set_program(SpawnRequest& request, const Context& context) const {
    const std::string& name = request.arguments.front();
    request.paths = candidates(name, given_variable(deps_.plan, context, "PATH").value_or("/usr/bin:/bin"));
    // The hint concerns the user's program, not a command of --wrap before it.
    if (name == context.program.command.front()) request.not_found_hint = context.program.not_found_hint;
}

void LocalWorkers::watch(Worker& worker) {
    worker.alive = true;
    ++alive_;
    deps_.children.add(worker.pid, Children::Kind::worker);
    worker.ended = deps_.loop.readable(worker.pidfd.get(), [this, &worker] { collect(worker); });
}

/// Collects the exec results that are known. The agent looks for them now and then: an event for each would wake this
/// thread while the worker begins, once per worker. A failed exec is an event, the exit.
void LocalWorkers::take_results() {
    for (Worker& worker : workers_)
        if (worker.spawning && !worker.spawning->is_starting()) finish_spawning(worker);
}

/// The pauses grow while no exec ends, as on a file system that does not answer.
void LocalWorkers::look_for_results(std::chrono::milliseconds pause) {
    pause_ = pause;
    next_look_ = deps_.loop.after(pause, [this] {
        next_look_ = {};
        const auto count = [this] {
            return std::ranges::count_if(workers_, [](const Worker& worker) { return worker.spawning.has_value(); });
        };
        const auto before = count();
        take_results();
        if (const auto left = count(); left > 0 && !next_look_)
            look_for_results(left < before ? kFirstLook : std::min(2 * pause_, kLongestPause));
    });
}

/// Collects the exec results of the first `count` workers. All such waits of a round together take kResultsSoon at
/// most: an exec takes less, unless the program's file system does not respond.
void LocalWorkers::await_results(std::size_t count) {
    if (!results_due_) results_due_ = base::Clock::now() + kResultsSoon;
    for (Worker& worker : std::span(workers_).first(count)) {
        if (!worker.spawning) continue;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*results_due_ - base::Clock::now());
        if (worker.spawning->await(left)) finish_spawning(worker);
    }
}

/// Collects the result of a worker's exec; called when it is known, so that finish() does not block.
void LocalWorkers::finish_spawning(Worker& worker) {
    const auto error = worker.spawning->finish();
    worker.spawning.reset();
    if (!error) {
        if (worker.has_terminal) deps_.terminal.give(worker.pid);
        return observer_.on_executed(worker);
    }
    release_process(worker);
    worker.pid = 0;  // the process never ran the program
    // The same program fails on all ranks: take the results of lower ranks first, so that the report names the first.
    await_results(static_cast<std::size_t>(worker.local_rank));
    observer_.on_not_started(worker, *error);
}

void LocalWorkers::release_process(Worker& worker) {
    worker.alive = false;
    worker.ended = {};
    worker.progress = {};
    worker.forking.reset();
    worker.pidfd.reset();
    --alive_;
    deps_.children.remove(worker.pid);
    if (!worker.has_terminal) return;
    deps_.terminal.take_back();
    if (worker.asked_to_stop || worker.code != CLD_EXITED) deps_.terminal.restore_modes();
}

void LocalWorkers::collect(Worker& worker) {
    if (worker.spawning) finish_spawning(worker);  // a process that could not execute is no worker
    if (worker.forking) read_line(worker);         // nor is a fork that could not be set up
    if (!worker.alive) return;
    siginfo_t info{};
    rusage used{};
    const long found = syscall(SYS_waitid, P_PID, worker.pid, &info, WEXITED | WNOHANG, &used);
    if (found != 0 && errno == ECHILD) {
        // Another process is the parent of this fork and has reaped it: the status is unknown, so assume a failure.
        info.si_code = CLD_EXITED;
        info.si_status = EXIT_FAILURE;
    } else if (found != 0 || info.si_pid != worker.pid) {
        return;
    }
    worker.code = info.si_code;
    worker.status = info.si_status;
    worker.usage.max_rss_kib = used.ru_maxrss;
    worker.usage.user_seconds =
        static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6;
    worker.usage.system_seconds =
        static_cast<double>(used.ru_stime.tv_sec) + static_cast<double>(used.ru_stime.tv_usec) / 1e6;
    const bool is_set_up = !worker.forking;
    release_process(worker);
    if (!is_set_up) observer_.on_executed(worker);  // each end in the event log follows a start
    observer_.on_ended(worker);
}

Worker* LocalWorkers::owner_of(pid_t pid) {
    const auto living = [this](pid_t number) -> Worker* {
        for (Worker& worker : workers_)
            if (worker.alive && worker.pid == number) return &worker;
        return nullptr;
    };
    // Below a shell without job control, even an orphan is still in the worker's group or session.
    for (const pid_t number : {pid, getpgid(pid), getsid(pid)})
        if (Worker* const found = living(number)) return found;
    if (!proc_is_ours()) return nullptr;
    // An orphan in a session of its own is known by its cgroup only.
    if (const auto local_rank = deps_.cgroups.local_rank_of(pid, assignment_.round))
        for (Worker& worker : workers_)
            if (worker.local_rank == *local_rank) return worker.alive ? &worker : nullptr;
    constexpr int kDeepest = 64;  // bounds a chain of parents that changes during the walk
    for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
        const auto stat = stat_of(pid);
        if (!stat) return nullptr;
        pid = stat->parent;
        if (Worker* const found = living(pid)) return found;
    }
    return nullptr;
}

void LocalWorkers::collect_exited() {
    for (Worker& worker : workers_)
        if (worker.alive && !worker.forking && !worker.spawning) collect(worker);
}

bool LocalWorkers::give_terminal() {
    if (!deps_.terminal.usable()) return false;
    for (const Worker& worker : workers_) {
        if (!worker.alive || !worker.has_terminal) continue;
        deps_.terminal.give(worker.pid);
        ::kill(-worker.pid, SIGCONT);
        return true;
    }
    return false;
}

bool LocalWorkers::terminal_stopped() const {
    bool stopped = false;
    for (const Worker& worker : workers_) {
        siginfo_t info{};
        if (worker.alive && worker.has_terminal)
            stopped = waitid(P_PID, static_cast<id_t>(worker.pid), &info, WSTOPPED | WNOHANG) == 0 &&
                      info.si_pid == worker.pid;
    }
    return stopped;
}

}  // namespace dlaunch::agent
