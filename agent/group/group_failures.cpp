// The part of GroupShell that describes failures.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {
namespace {

void set_not_executed(Failure& failure, const SpawnError& error) {
    failure.how = ExitKind::not_executed;
    failure.permanent = error.permanent;
    failure.code = error.exit_status();
    failure.text = error.text();
}

/// `code` and `status` as waitid(2) returns them.
void set_exit(Failure& failure, int code, int status) {
    failure.how = code == CLD_EXITED ? ExitKind::exited : ExitKind::signalled;
    (code == CLD_EXITED ? failure.code : failure.signal) = status;
    failure.core_dumped = code == CLD_DUMPED;
}

void set_verdict(Failure& failure, const Verdict& verdict) {
    failure.how = ExitKind::judged;
    failure.code = verdict.code;
    failure.text = verdict.text;
    failure.permanent = verdict.permanent;
}

}  // namespace

Failure GroupShell::describe(const Worker& worker) const {
    Failure failure;
    failure.rank = worker.rank;
    failure.local_rank = worker.local_rank;
    failure.node_rank = assignment_.group_rank;
    failure.role = deps_.plan.context_of(worker.local_rank).program.role;
    failure.host = deps_.node.host;
    failure.pid = worker.pid;
    failure.round = assignment_.round;
    failure.after = base::Clock::now() - started_;
    failure.when = std::chrono::system_clock::now();
    return failure;
}

Failure GroupShell::make_failure(const GroupCommand& command) const {
    const Worker& worker = workers_.all()[static_cast<std::size_t>(command.worker)];
    Failure failure = describe(worker);
    failure.collateral = command.collateral;
    switch (command.failure) {
        case FailureKind::ended:
            set_exit(failure, worker.code, worker.status);
            if (worker.verdict) set_verdict(failure, *worker.verdict);
            if (!worker.hung) break;
            failure.how = ExitKind::hung;
            failure.text = fmt::format("its timer \"{}\" expired", worker.hung_in);
            break;
        case FailureKind::not_started: set_not_executed(failure, spawn_errors_.at(command.worker)); break;
        case FailureKind::template_refused: set_not_executed(failure, *template_error_); break;
        case FailureKind::template_passed:
            set_not_executed(failure, {.step = fmt::format("it ended with 0 {} dlaunch::fork_point() (call it where "
                                                           "workers shall begin, or use --start-method=spawn)",
                                                           template_end_->at_fork_point ? "at" : "before"),
                                       .permanent = true});
            break;
        case FailureKind::template_ended:
            failure.pid = template_end_->pid;
            set_exit(failure, template_end_->code, template_end_->status);
            failure.text = template_end_->at_fork_point ? "at its fork point" : "before its fork point";
            break;
        case FailureKind::judged: set_verdict(failure, *worker.verdict); break;
        case FailureKind::timed_out:
            failure.how = ExitKind::timed_out;
            failure.text = fmt::format("of {:g} s", static_cast<double>(deps_.plan.timeout.count()) / 1e3);
            break;
    }
    return failure;
}

/// Ignored verdicts leave no trace: the report of a stopped worker shows its own exit.
void GroupShell::fail(int local_rank, const Verdict& verdict) {
    feed([this, local_rank, verdict](base::Time now) {
        if (!group_.heeds_verdicts()) return;
        workers_.judge(local_rank, verdict);
        group_.judged(local_rank, now);
    });
}

void GroupShell::add_failure(const GroupCommand& command) {
    const Failure& failure = failures_.emplace_back(make_failure(command));
    if (!failure.collateral && failure.how != ExitKind::timed_out) owner_.on_lost(failure);
}

LogSource GroupShell::source_of(const Failure& failure) const {
    if (failure.of_template()) return workers_.template_source();
    return {failure.rank, failure.local_rank, assignment_.group_rank, assignment_.round};
}

/// Adds facts that exist only after the drain: log files, stderr tail, error record, memory.
void GroupShell::complete(Failure& failure) {
    const LogSource source = source_of(failure);
    const LogPlan& logs = deps_.plan.logs;
    const RunPaths& paths = deps_.output.paths();
    failure.stdout_file = paths.file_of(logs, source, kStdout);
    failure.stderr_file = paths.file_of(logs, source, kStderr);
    const Worker& worker = workers_.all()[static_cast<std::size_t>(failure.local_rank)];
    if (worker.pid > 0 && !failure.of_template()) failure.usage = worker.usage;
    if (failure.collateral) return;
    if (const auto found = evidence_.find(source.local_rank); found != evidence_.end()) {
        failure.stderr_tail = found->second.stderr_tail;
        failure.record = found->second.record;
    }
    if (failure.record && logs.keeps_files())
        failure.error_file = paths.error_file(source);  // else the file is removed with the temporary folder
    // A helper process that ran out of memory shows as an exit of its worker.
    if (failure.how == ExitKind::exited || (failure.how == ExitKind::signalled && failure.signal == SIGKILL)) {
        const std::int64_t own = worker.oom_kills;
        failure.out_of_memory =
            judge_out_of_memory({std::min<std::int64_t>(own, 0), memory_before_}, {own, memory_.read()});
        if (failure.out_of_memory != OutOfMemory::no) failure.memory_limit = memory_.limit();
    }
}

}  // namespace dlaunch::agent
