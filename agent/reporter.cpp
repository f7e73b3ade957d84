#include "agent/reporter.hpp"

#include "agent/errors/first_cause.hpp"
#include "agent/membership/recorded_result.hpp"

namespace dlaunch::agent {

void Reporter::progress(const std::string& text) {
    if (!last_round_.failures.empty() && !last_round_.failures.front().collateral) {
        const Failure& cause = last_round_.failures.front();
        print_unless_quiet(summary(cause));
        if (cause.record) print_unless_quiet("  " + cause.record->message.substr(0, cause.record->message.find('\n')));
    }
    for (const auto& remark : last_round_.remarks) print_unless_quiet(remark);
    print_unless_quiet(text);
    if (plan_.verbosity >= 0) latest_ = text;
    last_round_ = {};  // a printed failure must not appear as the cause of the job's end
}

JobResult Reporter::job_result(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    JobResult end;
    end.job_id = plan_.rendezvous.job_id;
    end.program = plan_.program_names();
    end.exit_status = verdict.status;
    end.rounds = job.rounds;
    end.restarts = group.assignment().restart_count;
    end.max_restarts = job.rounds > 0 ? group.assignment().max_restarts : plan_.restarts.max_restarts;
    end.seconds = job.seconds;
    end.reason = verdict.reason;
    end.failures = verdict.failures ? *verdict.failures : last_round_.failures;
    drop_early_exits(end.failures);
    end.others = others_of(verdict.outcomes);
    for (const Worker& worker : group.workers().all())
        if (worker.pid)
            end.workers.push_back({worker.rank, worker.local_rank, plan_.context_of(worker.local_rank).program.role,
                                   worker.pid, node_.host, worker.exit_status(), worker.usage});
    if (plan_.logs.keeps_files()) end.log_directory = output_.paths().folder();
    return end;
}

bool Reporter::is_known(const std::string& reason) const {
    if (reason.empty() || reason == latest_) return true;
    return !explained_.empty() && (reason == explained_ || reason == explained_ + " on " + node_.host);
}

Output::FinalOutput Reporter::final_output(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    Output::FinalOutput final_output;
    final_output.report = job_result(verdict, job, group);
    if (plan_.has_front_end) return final_output;
    const bool has_cause = verdict.status != 0 && !final_output.report.failures.empty() &&
                           !final_output.report.failures.front().collateral;
    const bool is_told_here =
        !plan_.reports_own_only || (has_cause && final_output.report.failures.front().host == node_.host);
    if (has_cause)
        final_output.text = is_told_here ? text_report(final_output.report, latest_) : "";
    else if (verdict.status != 0 && !is_known(verdict.reason))
        final_output.lines.push_back(verdict.reason);
    else if (verdict.status == 0 && job.rounds == 0 && plan_.verbosity >= 0)
        final_output.lines.emplace_back("the job succeeded; this node was never used (spare)");
    if (plan_.verbosity >= 0)
        final_output.lines.insert(final_output.lines.end(), last_round_.remarks.begin(), last_round_.remarks.end());
    return final_output;
}

}  // namespace dlaunch::agent
