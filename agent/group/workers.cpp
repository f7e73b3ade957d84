#include "agent/group/workers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "agent/process/limits.hpp"
#include "agent/process/proc.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/host.hpp"

namespace dlaunch::agent {
namespace {

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

}  // namespace

int Worker::exit_status() const { return code == CLD_EXITED ? status : 128 + status; }

LocalWorkers::LocalWorkers(const Surroundings& surroundings, Listener listener)
    : around_(surroundings),
      listener_(std::move(listener)),
      inherited_(entries_of(surroundings.plan.host.environment)) {
    if (around_.program) watch_template();
}

void LocalWorkers::begin(const Assignment& assignment) {
    assignment_ = assignment;
    template_is_new_ = false;
    workers_.clear();
    workers_.resize(static_cast<std::size_t>(assignment.local_world_size));
    for (int local_rank = 0; local_rank < assignment.local_world_size; ++local_rank) {
        Worker& worker = workers_[static_cast<std::size_t>(local_rank)];
        worker.local_rank = local_rank;
        worker.rank = worker.usage.rank = assignment.first_rank + local_rank;
    }
}

void LocalWorkers::keep_terminal_output(SpawnRequest& request, int local_rank) const {
    const LogPlan& logs = around_.plan.logs;
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        const unsigned bit = stream == STDOUT_FILENO ? kStdout : kStderr;
        const bool shown = !logs.shown || logs.shown->contains(local_rank);
        if (shown && !((logs.redirects.of(local_rank) | logs.tee.of(local_rank)) & bit) && isatty(stream))
            request.files[static_cast<std::size_t>(stream)] = -1;
    }
}

SpawnRequest LocalWorkers::request(Worker& worker, const Logs::Ends& ends, const StandardInput::Given& input) const {
    SpawnRequest request;
    request.arguments = worker_command(around_.plan, assignment_, worker.local_rank);
    const LogSource source{worker.rank, worker.local_rank, assignment_.group_rank, assignment_.round};
    const Variables variables =
        worker_variables(around_.plan, assignment_, around_.node, worker.local_rank, around_.logs.error_file(source));
    set_variables(request, variables);
    request.files = {input.fd, ends.out.get(), ends.err.get()};
    request.working_directory = around_.plan.program.working_directory;
    request.open_files = around_.open_files;
    if (input.terminal) {
        request.terminal = STDIN_FILENO;
        request.foreground = around_.terminal.usable();
        keep_terminal_output(request, worker.local_rank);
    }
    const auto index = static_cast<std::size_t>(worker.local_rank);
    if (index < around_.processors.size()) request.processors = around_.processors[index];
    return request;
}

void LocalWorkers::set_variables(SpawnRequest& request, const Variables& variables) const {
    for (const std::string& entry : inherited_)
        if (!is_set_by(variables, entry)) request.inherited.push_back(entry.c_str());
    request.variables = entries_of(variables);
}

std::optional<SpawnError> LocalWorkers::start(int local_rank) {
    Worker& worker = workers_[static_cast<std::size_t>(local_rank)];
    auto ends = around_.logs.start_worker({worker.rank, local_rank, assignment_.group_rank, assignment_.round});
    if (!ends) return SpawnError{ends.error().text, 0, true, false, {}};
    StandardInput::Given input = around_.input.give(worker.rank, assignment_.world_size);
    SpawnRequest wanted = request(worker, *ends, input);
    const base::UniqueFd cgroup = around_.cgroups.open_worker(assignment_.round, local_rank);
    wanted.cgroup = cgroup.get();
    if (around_.program) return fork(worker, wanted);

    if (auto error = find_path(wanted)) return error;
    auto outcome = Spawning::begin(std::move(wanted));
    if (auto* error = std::get_if<SpawnError>(&outcome)) return with_hint(*error);
    worker.on_its_way = std::move(std::get<Spawning>(outcome));
    worker.pid = worker.on_its_way->pid();
    worker.pidfd = worker.on_its_way->take_pidfd();
    worker.has_terminal = input.terminal;
    watch(worker);
    return std::nullopt;
}

std::optional<SpawnError> LocalWorkers::find_path(SpawnRequest& request) const {
    auto program =
        find_program(request.arguments.front(), given_variable(around_.plan, "PATH").value_or("/usr/bin:/bin"));
    if (!program) {
        const std::string& name = request.arguments.front();
        const std::string& hint = around_.plan.program.not_found_hint;
        const bool is_program = name == around_.plan.program.command.front();  // and not what --wrap puts before it
        if (is_program && !hint.empty()) return SpawnError{name + ": not in PATH" + hint, 0, true, true, {}};
        return SpawnError{name + " (not found in PATH)", ENOENT, true, true, {}};
    }
    request.path = *program;
    return std::nullopt;
}

void LocalWorkers::watch(Worker& worker) {
    worker.alive = true;
    ++alive_;
    worker.ended = around_.loop.readable(worker.pidfd.get(), [this, &worker] { collect(worker); });
}

bool LocalWorkers::settle(int local_rank) {
    Worker& worker = workers_[static_cast<std::size_t>(local_rank)];
    if (!worker.on_its_way) return !worker.forking;
    const auto error = worker.on_its_way->finish();
    worker.on_its_way.reset();
    if (!error) {
        if (worker.has_terminal) around_.terminal.give(worker.pid);
        listener_.started(worker);
        return true;
    }
    forget_process(worker);
    worker.pid = 0;  // it never was that program
    listener_.not_started(worker, *error);
    return true;
}

void LocalWorkers::forget_process(Worker& worker) {
    worker.alive = false;
    worker.ended = {};
    worker.told = {};
    worker.forking.reset();
    worker.pidfd.reset();
    --alive_;
    if (!worker.has_terminal) return;
    around_.terminal.take_back();
    if (worker.asked_to_stop || worker.code != CLD_EXITED) around_.terminal.restore_modes();
}

void LocalWorkers::collect(Worker& worker) {
    if (worker.on_its_way) settle(worker.local_rank);  // the end of one that could not execute is no worker's end
    if (worker.forking) hear(worker);                  // nor is that of one that could not take its place
    if (!worker.alive) return;
    siginfo_t info{};
    rusage used{};
    const long found = syscall(SYS_waitid, P_PID, worker.pid, &info, WEXITED | WNOHANG, &used);
    if (found != 0 && errno == ECHILD) {
        // Another process is the parent of this fork and has its status: the process has ended, that is all there is.
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
    forget_process(worker);
    if (orphans_wait_) reap_orphans();  // before anybody asks who is left
    listener_.ended(worker);
}

/// A fork that is on its way has no group of its own yet.
void LocalWorkers::send(const Worker& worker, int number) { ::kill(worker.forking ? worker.pid : -worker.pid, number); }

void LocalWorkers::signal(int number) {
    if (around_.program && (number == SIGSTOP || number == SIGCONT)) around_.program->signal(number);
    for (const Worker& worker : workers_)
        if (worker.alive) send(worker, number);
}

Worker* LocalWorkers::owner_of(pid_t pid) {
    const auto living = [this](pid_t number) -> Worker* {
        for (Worker& worker : workers_)
            if (worker.alive && worker.pid == number) return &worker;
        return nullptr;
    };
    // Below a shell without job control, or orphaned there, the group or the session is still the worker's.
    for (const pid_t number : {pid, getpgid(pid), getsid(pid)})
        if (Worker* const found = living(number)) return found;
    if (!proc_is_ours()) return nullptr;
    constexpr int kDeepest = 64;  // a chain of parents that changes meanwhile must end
    for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
        const auto stat = stat_of(pid);
        if (!stat) return nullptr;
        pid = stat->parent;
        if (Worker* const found = living(pid)) return found;
    }
    return nullptr;
}

void LocalWorkers::stop(int number) {
    if (around_.program) around_.program->stop(number);
    forget_unmade();
    if (orphans_wait_) reap_orphans();
    for (Worker& worker : workers_) {
        if (worker.on_its_way) settle(worker.local_rank);  // it has no group of its own yet
        if (!worker.alive) continue;
        worker.asked_to_stop = true;
        send(worker, number);
        send(worker, SIGCONT);
    }
}

/// A child of ours in a group, be it a zombie, keeps the group's number from being somebody else's.
std::vector<pid_t> LocalWorkers::groups_with_orphans() const {
    std::vector<pid_t> found;
    for (const Worker& worker : workers_) {
        siginfo_t info{};
        if (worker.alive || worker.pid == 0) continue;
        if (waitid(P_PGID, static_cast<id_t>(worker.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
            found.push_back(-worker.pid);
    }
    return found;
}

std::vector<pid_t> LocalWorkers::orphans() const {
    if (!proc_is_ours()) return groups_with_orphans();
    std::vector<pid_t> found;
    for (pid_t pid : descendants()) {
        const pid_t group = getpgid(pid);
        for (const Worker& worker : workers_)
            if (!worker.alive && worker.pid != 0 && worker.pid == group) found.push_back(pid);
    }
    return found;
}

void LocalWorkers::kill() {
    stop(SIGKILL);
    around_.cgroups.kill_all();
}

bool LocalWorkers::reap_orphans() {
    bool terminal_stopped = false;
    for (const Worker& worker : workers_) {
        siginfo_t info{};
        if (worker.alive && worker.has_terminal)
            terminal_stopped = waitid(P_PID, static_cast<id_t>(worker.pid), &info, WSTOPPED | WNOHANG) == 0 &&
                               info.si_pid == worker.pid;
    }
    orphans_wait_ = awaits_unknown();
    while (!orphans_wait_) {
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
        // A worker and the template are collected by their pidfds, whose events come in the order of deaths; the
        // orphans behind them wait.
        for (const Worker& worker : workers_)
            if (worker.alive && worker.pid == info.si_pid) orphans_wait_ = true;
        if (around_.program && around_.program->pid() == info.si_pid) orphans_wait_ = true;
        if (orphans_wait_) break;
        waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    }
    return terminal_stopped;
}

}  // namespace dlaunch::agent
