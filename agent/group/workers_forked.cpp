// The half of LocalWorkers that forks workers from a template. Progress arrives on descriptors, each fork's channel and
// the template's pidfd: no call here blocks.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/group/workers.hpp"
#include "agent/process/limits.hpp"

namespace dlaunch::agent {

SpawnError LocalWorkers::with_hint(SpawnError error) {
    rlimit limit{};
    if (error.number != EAGAIN)
        error.hint += open_files_hint(error.number);
    else if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        error.hint += fmt::format(" (the limit of processes, ulimit -u, is {})", limit.rlim_cur);
    return error;
}

void LocalWorkers::on_ready() { observer_.on_template_ready(); }

void LocalWorkers::on_refused(const SpawnError& error) {
    deps_.output.end_template();
    observer_.on_template_refused(with_hint(error));
}

void LocalWorkers::on_ended(const Template::End& end) {
    deps_.output.end_template();
    cancel_unmade();
    observer_.on_template_ended(end);
}

bool LocalWorkers::has_template() { return deps_.program && (deps_.program->ready() || deps_.program->prepares()); }

/// Starts the template without the variables of a rank: each fork receives its own.
std::optional<SpawnError> LocalWorkers::start_template() {
    if (deps_.node.agent_socket.empty())
        return SpawnError{.step = "the agent has no local socket for a template", .permanent = true};
    template_source_ = next_template_source();
    auto ends = deps_.output.add_worker(template_source_);
    if (!ends) return SpawnError{.step = ends.error().text, .permanent = true};
    SpawnRequest wanted;
    wanted.arguments = worker_command(deps_.plan, assignment_, 0);
    const Context& context = deps_.plan.contexts.front();
    wanted.working_directory = context.program.working_directory;
    wanted.open_files = deps_.open_files;
    const base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    wanted.files = {null.get(), ends->out.get(), ends->err.get()};
    set_variables(wanted,
                  template_variables(deps_.plan, deps_.node, deps_.output.paths().error_file(template_source_)));
    set_program(wanted, context);
    if (auto error = deps_.program->start(std::move(wanted))) return with_hint(*error);
    return std::nullopt;
}

std::optional<SpawnError> LocalWorkers::fork(Worker& worker, const SpawnRequest& wanted) {
    auto place = Forking::place(wanted);
    if (!place) return with_hint({.step = "keep its files for it", .number = errno});
    auto outcome = deps_.program->order();
    if (auto* error = std::get_if<SpawnError>(&outcome)) return with_hint(*error);
    worker.forking.emplace(std::move(std::get<base::UniqueFd>(outcome)), std::move(*place));
    worker.expected = true;
    deps_.children.expect();
    worker.progress = deps_.loop.readable(worker.forking->line(), [this, &worker] { read_line(worker); });
    return std::nullopt;
}

/// Handles all messages on the fork's channel.
void LocalWorkers::read_line(Worker& worker) {
    while (worker.forking) {
        Forking::Step step = worker.forking->step();
        if (std::holds_alternative<Forking::Nothing>(step)) return;
        if (auto* made = std::get_if<Forking::Made>(&step)) {
            worker.pid = made->pid;
            worker.pidfd = std::move(made->pidfd);
            watch(worker);
            if (std::exchange(worker.expected, false)) deps_.children.expected_is_known();
            observer_.on_made(worker);
            continue;
        }
        if (std::holds_alternative<Forking::Silence>(step)) return on_silence(worker);
        end_forking(worker);
        if (auto* error = std::get_if<SpawnError>(&step)) {
            on_not_forked(worker, *error);
        } else if (auto* killed = std::get_if<Forking::Killed>(&step)) {
            worker.code = CLD_KILLED;
            worker.status = killed->signal;
            observer_.on_executed(worker);  // the event log counts a killed fork as started
            observer_.on_ended(worker);
        } else {
            observer_.on_executed(worker);
        }
    }
}

void LocalWorkers::end_forking(Worker& worker) {
    worker.progress = {};
    worker.forking.reset();
    if (std::exchange(worker.expected, false)) deps_.children.expected_is_known();
}

/// The fork's channel was closed without a result. A known fork reports its exit by its pidfd. An unknown fork is given
/// up when the template exits; kill the template, since a silent one might never exit.
void LocalWorkers::on_silence(Worker& worker) {
    worker.progress = {};
    if (worker.pid == 0) deps_.program->signal(SIGKILL);
}

/// Kills the fork and removes it from the registry: from now on it is reaped like any unregistered child.
void LocalWorkers::on_not_forked(Worker& worker, const SpawnError& error) {
    if (worker.alive) {
        ::kill(worker.pid, SIGKILL);
        release_process(worker);
        worker.pid = 0;  // the process never ran the program
    }
    observer_.on_not_started(worker, with_hint(error));
}

/// Gives up ordered forks without a process: the template has exited, or the round is being stopped. A late fork finds
/// its channel closed and exits.
void LocalWorkers::cancel_unmade() {
    for (Worker& worker : workers_) {
        if (!worker.forking) continue;
        read_line(worker);
        if (worker.pid != 0 || !worker.forking) continue;
        end_forking(worker);
        observer_.on_unmade(worker);
    }
}

}  // namespace dlaunch::agent
