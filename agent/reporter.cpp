#include "agent/reporter.hpp"

namespace dlaunch::agent {

void Reporter::progress(const std::string& text) {
    if (!last_round_.failures.empty() && !last_round_.failures.front().victim) {
        const Failure& cause = last_round_.failures.front();
        print_unless_quiet(summary(cause));
        if (cause.record) print_unless_quiet("  " + cause.record->message.substr(0, cause.record->message.find('\n')));
    }
    for (const auto& remark : last_round_.remarks) print_unless_quiet(remark);
    print_unless_quiet(text);
    if (plan_.verbosity >= 0) latest_ = text;
    last_round_ = {};  // a printed failure must not appear as the cause of the job's end
}

JobEnd Reporter::job_end(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    JobEnd end;
    end.job_id = plan_.rendezvous.job_id;
    end.program = plan_.program.command.at(plan_.program.name_index);
    end.exit_status = verdict.status;
    end.rounds = job.rounds;
    end.restarts = group.assignment().restart_count;
    end.max_restarts = job.rounds > 0 ? group.assignment().max_restarts : plan_.restarts.max_restarts;
    end.seconds = job.seconds;
    end.reason = verdict.reason;
    end.failures = verdict.failures ? *verdict.failures : last_round_.failures;
    for (const Worker& worker : group.workers().all())
        if (worker.pid)
            end.workers.push_back(
                {worker.rank, worker.local_rank, worker.pid, node_.host, worker.exit_status(), worker.usage});
    if (plan_.logs.keeps_files()) end.log_directory = output_.paths().folder();
    return end;
}

bool Reporter::is_known(const std::string& reason) const {
    if (reason.empty() || reason == latest_) return true;
    return !explained_.empty() && (reason == explained_ || reason == explained_ + " on " + node_.host);
}

Output::Ending Reporter::ending(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    Output::Ending ending;
    ending.report = job_end(verdict, job, group);
    const bool has_cause =
        verdict.status != 0 && !ending.report.failures.empty() && !ending.report.failures.front().victim;
    if (has_cause)
        ending.text = text_report(ending.report, latest_);
    else if (verdict.status != 0 && !is_known(verdict.reason))
        ending.lines.push_back(verdict.reason);
    else if (verdict.status == 0 && job.rounds == 0 && plan_.verbosity >= 0)
        ending.lines.emplace_back("the job has ended well without this node, a spare throughout");
    if (plan_.verbosity >= 0)
        ending.lines.insert(ending.lines.end(), last_round_.remarks.begin(), last_round_.remarks.end());
    return ending;
}

}  // namespace dlaunch::agent
