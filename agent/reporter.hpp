#pragma once

#include <string>

#include "agent/group/environment.hpp"
#include "agent/group/group_shell.hpp"
#include "agent/io/output.hpp"
#include "agent/last_record.hpp"
#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"
#include "agent/process/guard.hpp"

namespace dlaunch::agent {

/// Composes dlaunch's texts about a job: lines while the job runs and the report at its end. Prints each fact once.
class Reporter {
public:
    /// `plan`, `node` and `output` must outlive the reporter.
    Reporter(const Plan& plan, const NodeFacts& node, Output& output)
        : plan_(plan), node_(node), output_(output), speaks_(plan.verbosity >= 0) {}

    /// Prints a line on stderr.
    void print(const std::string& text) { output_.print(text); }
    /// Prints a line, unless --quiet.
    void print_unless_quiet(const std::string& text) {
        if (speaks_) print(text);
    }
    /// As Membership::Orders::speak.
    void speak(bool on) { speaks_ = on && !plan_.is_quiet; }
    /// Prints a line about this node, unless --quiet.
    void print_own(const std::string& text) {
        if (!plan_.is_quiet) print(plan_.with_host(text));
    }

    /// Prints a line of the membership. The failure of the last round, if any, goes before it: the job continues, so no
    /// report will name that failure. If `cause` is another node's failure, that one goes before it with its `message`,
    /// then this node's own if it did not follow from that.
    void progress(const std::string& text, const std::string& cause = {}, const std::string& message = {});
    /// `count`: of the rounds begun on this node, with this one.
    void round_begins(const Assignment& assignment, int count);
    /// Also reports each worker's exit to a front end.
    void round_over(const RoundResult& end, const GroupShell& group);
    /// Until forget(), the guard reports in place of this process if that is killed.
    void leave_to(GuardLink& guard);
    void forget(GuardLink& guard) { guard.keep_last_record(-1); }
    /// `reason` for the end of this node was printed: final_output() does not repeat it.
    void end_is_explained_by(const std::string& reason) { explained_ = reason; }

    struct Job {
        int rounds = 0;  ///< begun on this node
        double seconds = 0;
    };
    [[nodiscard]] Output::FinalOutput final_output(const JobVerdict& verdict, const Job& job,
                                                   const GroupShell& group) const;

private:
    void print_failure(const Failure& failure);
    [[nodiscard]] JobResult job_result(const JobVerdict& verdict, const Job& job, const GroupShell& group) const;
    [[nodiscard]] bool has_just_shown(const Failure& failure) const;
    [[nodiscard]] bool is_known(const std::string& reason) const;

    const Plan& plan_;
    const NodeFacts& node_;
    Output& output_;
    LastRecord last_record_;
    RoundResult last_round_;
    bool speaks_;
    std::string latest_;     ///< the line printed last
    std::string explained_;  ///< "SIGTERM received"
};

}  // namespace dlaunch::agent
