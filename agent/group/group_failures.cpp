// What NodeRound says about a bad end.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "agent/errors/error_file.hpp"
#include "agent/group/round.hpp"

namespace dlaunch::agent {

Failure NodeRound::about(const Worker& worker) const {
    Failure failure;
    failure.rank = worker.rank;
    failure.local_rank = worker.local_rank;
    failure.node_rank = assignment_.group_rank;
    failure.role = around_.plan.program.role;
    failure.host = around_.node.host;
    failure.pid = worker.pid;
    failure.round = assignment_.round;
    failure.after = base::Clock::now() - started_;
    failure.when = std::chrono::system_clock::now();
    return failure;
}

Failure NodeRound::failure_of(const Worker& worker) const {
    Failure failure = about(worker);
    failure.how = worker.hung ? HowEnded::hung : worker.code == CLD_EXITED ? HowEnded::exited : HowEnded::signalled;
    (worker.code == CLD_EXITED ? failure.code : failure.signal) = worker.status;
    failure.core_dumped = worker.code == CLD_DUMPED;
    failure.victim = worker.asked_to_stop || reporting_.fenced();
    if (worker.hung) failure.text = fmt::format("its timer \"{}\" expired", worker.hung_in);
    return failure;
}

Failure NodeRound::failure_of(const Worker& worker, const Template::End& end) const {
    Failure failure = about(worker);
    failure.pid = end.pid;
    failure.how = end.code == CLD_EXITED ? HowEnded::exited : HowEnded::signalled;
    (end.code == CLD_EXITED ? failure.code : failure.signal) = end.status;
    failure.core_dumped = end.code == CLD_DUMPED;
    failure.text = end.at_fork_point ? "at its fork point" : "before its fork point";
    failure.victim = group_.state() != GroupState::starting || reporting_.fenced();
    return failure;
}

Failure NodeRound::failure_of(const Worker& worker, const SpawnError& error) const {
    Failure failure = about(worker);
    failure.permanent = error.permanent;
    failure.how = HowEnded::not_executed;
    failure.code = error.exit_status();
    failure.text = error.text();
    return failure;
}

/// What can only be known now: files are written, pipes are read to their end.
void NodeRound::complete(Failure& failure) {
    const LogSource source =
        failure.of_template() ? workers_.template_source()
                              : LogSource{failure.rank, failure.local_rank, assignment_.group_rank, assignment_.round};
    failure.stdout_file = around_.logs.file_of(source, kStdout);
    failure.stderr_file = around_.logs.file_of(source, kStderr);
    if (failure.victim) return;
    failure.last_words = around_.logs.last_words(source.local_rank);
    const std::string error_file = around_.logs.error_file(source);
    failure.record = read_error_file(error_file);
    if (failure.record && around_.plan.logs.keeps_files())
        failure.error_file = error_file;  // else it goes with the job
    // A helper process that ran out of memory shows as an exit of its worker.
    if (failure.how == HowEnded::exited || (failure.how == HowEnded::signalled && failure.signal == SIGKILL)) {
        const std::int64_t own = workers_.all()[static_cast<std::size_t>(failure.local_rank)].oom_kills;
        failure.out_of_memory =
            judge_out_of_memory({std::min<std::int64_t>(own, 0), memory_before_}, {own, memory_.read()});
        if (failure.out_of_memory != OutOfMemory::no) failure.memory_limit = memory_.limit();
    }
}

}  // namespace dlaunch::agent
