#include "agent/reporter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/errors/error_line.hpp"
#include "agent/errors/first_cause.hpp"
#include "agent/job_result.hpp"
#include "agent/membership/recorded_result.hpp"
#include "agent/process/front_notice.hpp"

namespace dlaunch::agent {

void Reporter::progress(const std::string& text, const std::string& cause, const std::string& message) {
    const auto& failures = last_round_.failures;
    const Failure* own = failures.empty() || failures.front().collateral ? nullptr : &failures.front();
    const bool is_cause = own && (cause.empty() || cause == summary(*own));
    if (is_cause) print_failure(*own);
    const bool has_failed_too = own && !is_cause && own->strength <= Strength::own_error;
    const bool has_own_line = !is_cause && (!message.empty() || has_failed_too);
    if (has_own_line && !cause.empty()) print_unless_quiet(cause);
    if (has_own_line && !message.empty()) print_unless_quiet("  " + message);
    if (has_failed_too) print_unless_quiet("  also failed: " + summary(*own));
    for (const auto& remark : last_round_.remarks) print_unless_quiet(remark);
    const std::string line = cause.empty() || is_cause || has_own_line ? text : cause + ": " + text;
    print_unless_quiet(line);
    if (speaks_) latest_ = line;
    last_round_ = {};  // a printed failure must not appear as the cause of the job's end
}

void Reporter::print_failure(const Failure& failure) {
    print_unless_quiet(summary(failure));
    const std::string message = error_line(failure);
    if (!message.empty() && !(failure.is_on_screen && !failure.record)) print_unless_quiet("  " + message);
}

void Reporter::leave_to(GuardLink& guard) {
    last_record_ = LastRecord::of(plan_);
    if (last_record_.file() >= 0) guard.keep_last_record(last_record_.file());
}

void Reporter::round_begins(const Assignment& assignment, int count) {
    last_record_.add_round(count, assignment.restart_count, assignment.max_restarts);
    if (plan_.verbosity > 0)
        print(fmt::format("round {}: starting rank{} {} of {}, master address {}:{}", assignment.round,
                          assignment.ranks.workers() == 1 ? "" : "s", assignment.ranks.text(), assignment.world_size,
                          assignment.master_addr, assignment.master_port));
    if (count > 1 && plan_.standard_input.mode == StdinPlan::Mode::all)
        print_unless_quiet("--stdin=all: the workers of this round read what earlier rounds left of standard input");
}

void Reporter::round_over(const RoundResult& end, const GroupShell& group) {
    last_round_ = end;
    FrontNotice notice{.kind = FrontNotice::Kind::worker, .round = group.assignment().round};
    for (const Worker& worker : group.workers().all()) {
        if (!worker.pid) continue;
        const auto& [max_rss_kib, user_seconds, system_seconds] = worker.usage;
        notice.worker = {worker.rank, worker.local_rank, worker.pid,     worker.exit_status(),
                         max_rss_kib, user_seconds,      system_seconds, {}};
        const std::string& role = plan_.context_of(worker.local_rank).program.role;
        role.copy(notice.worker.role.data(), notice.worker.role.size() - 1);
        tell_front_end(plan_.front_notices, notice);
    }
}

JobResult Reporter::job_result(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    JobResult end;
    end.exit_status = verdict.status;
    end.rounds = job.rounds;
    end.restarts = group.assignment().restart_count;
    end.max_restarts = job.rounds > 0 ? group.assignment().max_restarts : plan_.restarts.max_restarts;
    end.reason = verdict.reason;
    end.failures = verdict.failures ? *verdict.failures : last_round_.failures;
    drop_early_exits(end.failures);
    for (Failure& failure : end.failures) failure.is_on_screen = has_just_shown(failure);
    describe_job(plan_, job.seconds, end);
    end.others = others_of(verdict.outcomes);
    for (const Worker& worker : group.workers().all())
        if (worker.pid)
            end.workers.push_back({worker.rank, worker.local_rank, plan_.context_of(worker.local_rank).program.role,
                                   worker.pid, node_.host, worker.exit_status(), worker.usage});
    if (plan_.logs.keeps_files()) {
        end.log_directory = output_.paths().folder();
        end.log_name = output_.paths().short_name();
    }
    return end;
}

/// The failure of a worker of this node, whose stderr is on this console.
bool Reporter::has_just_shown(const Failure& failure) const {
    return std::ranges::any_of(last_round_.failures, [&](const Failure& own) {
        return own.is_on_screen && own.rank == failure.rank && own.pid == failure.pid && own.host == failure.host;
    });
}

bool Reporter::is_known(const std::string& reason) const {
    if (reason.empty() || reason == latest_) return true;
    return !explained_.empty() && (reason == explained_ || reason == explained_ + " on " + node_.host);
}

Output::FinalOutput Reporter::final_output(const JobVerdict& verdict, const Job& job, const GroupShell& group) const {
    Output::FinalOutput final_output;
    final_output.report = job_result(verdict, job, group);
    const bool names_folder = plan_.logs.keeps_files() && plan_.logs.directory.empty() && plan_.verbosity >= 0;
    const std::string where_logs_are = plan_.with_host("log files are in " + output_.paths().folder());
    if (plan_.has_front_end) return final_output;
    const bool has_cause = verdict.status != 0 && !final_output.report.failures.empty() &&
                           !final_output.report.failures.front().collateral;
    const bool is_told_here =
        !plan_.reports_own_only || (has_cause && final_output.report.failures.front().host == node_.host);
    if (has_cause)
        final_output.text = is_told_here ? text_report(final_output.report, latest_, report_style(plan_)) : "";
    else if (verdict.status != 0 && !is_known(verdict.reason))
        final_output.lines.push_back(verdict.reason);
    else if (verdict.status == 0 && job.rounds == 0 && plan_.verbosity >= 0)
        final_output.lines.emplace_back("the job succeeded; this node was never used (spare)");
    if (names_folder && final_output.text.empty()) final_output.lines.push_back(where_logs_are);
    if (plan_.verbosity >= 0)
        final_output.lines.insert(final_output.lines.end(), last_round_.remarks.begin(), last_round_.remarks.end());
    return final_output;
}

}  // namespace dlaunch::agent
