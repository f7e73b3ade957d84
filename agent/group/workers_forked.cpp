// The half of LocalWorkers that makes workers of a template. What is on its way is told by descriptors: each fork's
// line, the template's pidfd. Nobody waits.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

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

void LocalWorkers::watch_template() {
    Template::Listener listener = listener_.program;
    listener.ended = [this](const Template::End& end) {
        around_.logs.end_template();
        forget_unmade();
        if (orphans_wait_) reap_orphans();
        listener_.program.ended(end);
    };
    listener.refused = [this](const SpawnError& error) {
        around_.logs.end_template();
        listener_.program.refused(error);
    };
    around_.program->listen(std::move(listener));
}

bool LocalWorkers::may_start() {
    if (!around_.program || around_.program->ready()) return true;
    if (!around_.program->absent()) return false;
    if (orphans_wait_) reap_orphans();
    if (auto error = start_template()) listener_.program.refused(*error);
    return false;
}

/// It is nobody yet: what it learns of a rank, its forks learn.
std::optional<SpawnError> LocalWorkers::start_template() {
    if (around_.node.agent_socket.empty())
        return SpawnError{"the agent has no local socket for a template", 0, true, false, {}};
    template_source_ = {assignment_.first_rank, Logs::kTemplate, assignment_.group_rank, assignment_.round};
    auto ends = around_.logs.start_worker(template_source_);
    if (!ends) return SpawnError{ends.error().text, 0, true, false, {}};
    SpawnRequest wanted;
    wanted.arguments = worker_command(around_.plan, assignment_, 0);
    wanted.working_directory = around_.plan.program.working_directory;
    wanted.open_files = around_.open_files;
    const base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    wanted.files = {null.get(), ends->out.get(), ends->err.get()};
    set_variables(wanted, template_variables(around_.plan, around_.node, around_.logs.error_file(template_source_)));
    if (auto error = find_path(wanted)) return error;
    if (auto error = around_.program->start(std::move(wanted))) return with_hint(*error);
    template_is_new_ = true;
    return std::nullopt;
}

std::optional<SpawnError> LocalWorkers::fork(Worker& worker, const SpawnRequest& wanted) {
    auto place = Forking::place(wanted);
    if (!place) return with_hint({"keep its files for it", errno, false, false, {}});
    auto outcome = around_.program->order();
    if (auto* error = std::get_if<SpawnError>(&outcome)) return with_hint(*error);
    worker.forking.emplace(std::move(std::get<base::UniqueFd>(outcome)), std::move(*place));
    worker.told = around_.loop.readable(worker.forking->line(), [this, &worker] { hear(worker); });
    return std::nullopt;
}

/// All that its line has to tell.
void LocalWorkers::hear(Worker& worker) {
    while (worker.forking) {
        Forking::Step step = worker.forking->step();
        if (std::holds_alternative<Forking::Nothing>(step)) return;
        if (auto* made = std::get_if<Forking::Made>(&step)) {
            worker.pid = made->pid;
            worker.pidfd = std::move(made->pidfd);
            watch(worker);
            if (orphans_wait_) reap_orphans();
            continue;
        }
        if (std::holds_alternative<Forking::Silence>(step)) return on_silence(worker);
        worker.told = {};
        worker.forking.reset();
        if (auto* error = std::get_if<SpawnError>(&step)) {
            on_not_forked(worker, *error);
        } else if (auto* killed = std::get_if<Forking::Killed>(&step)) {
            worker.code = CLD_KILLED;
            worker.status = killed->signal;
            listener_.ended(worker);
        } else {
            listener_.started(worker);
            listener_.go_on();
        }
    }
}

/// Of one that is known all else is told by its end. Of another it is the template's end, which is told next; one that
/// only keeps silent would be waited for in vain.
void LocalWorkers::on_silence(Worker& worker) {
    worker.told = {};
    if (worker.pid != 0) return worker.forking.reset();
    around_.program->signal(SIGKILL);
}

void LocalWorkers::on_not_forked(Worker& worker, const SpawnError& error) {
    if (worker.alive) {
        ::kill(worker.pid, SIGKILL);
        while (waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {}
        forget_process(worker);
        worker.pid = 0;  // it never was that program
    }
    listener_.not_started(worker, with_hint(error));
}

/// Those that nobody will make: the template has gone, or the round is over. One that is made all the same finds its
/// line closed, and exits.
void LocalWorkers::forget_unmade() {
    for (Worker& worker : workers_) {
        if (!worker.forking) continue;
        hear(worker);
        if (worker.pid != 0) continue;
        worker.told = {};
        worker.forking.reset();
    }
}

/// Some child of ours may be a worker whose pid has not been told yet.
bool LocalWorkers::awaits_unknown() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.forking && worker.pid == 0; });
}

Worker* LocalWorkers::first_missing() {
    const auto found =
        std::find_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.pid == 0; });
    return found == workers_.end() ? nullptr : &*found;
}

bool LocalWorkers::none_made() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.pid == 0; });
}

std::vector<pid_t> LocalWorkers::spared() const {
    if (!around_.program || around_.program->absent()) return {};
    return {around_.program->pid()};
}

}  // namespace dlaunch::agent
