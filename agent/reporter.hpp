#pragma once

#include <string>

#include "agent/group/environment.hpp"
#include "agent/group/group_shell.hpp"
#include "agent/io/output.hpp"
#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Composes dlaunch's texts about a job: lines while the job runs and the report at its end. Prints each fact once.
class Reporter {
public:
    /// `plan`, `node` and `output` must outlive the reporter.
    Reporter(const Plan& plan, const NodeFacts& node, Output& output) : plan_(plan), node_(node), output_(output) {}

    /// Prints a line on stderr.
    void print(const std::string& text) { output_.print(text); }
    /// Prints a line, unless --quiet.
    void print_unless_quiet(const std::string& text) {
        if (plan_.verbosity >= 0) print(text);
    }

    /// Prints a line of the membership. The failure of the last round, if any, goes before it: the job continues, so no
    /// report will name that failure.
    void progress(const std::string& text);
    void round_over(const RoundResult& end) { last_round_ = end; }
    /// `reason` for the end of this node was printed: final_output() does not repeat it.
    void end_is_explained_by(const std::string& reason) { explained_ = reason; }

    struct Job {
        int rounds = 0;  ///< begun on this node
        double seconds = 0;
    };
    [[nodiscard]] Output::FinalOutput final_output(const JobVerdict& verdict, const Job& job,
                                                   const GroupShell& group) const;

private:
    [[nodiscard]] JobResult job_result(const JobVerdict& verdict, const Job& job, const GroupShell& group) const;
    [[nodiscard]] bool is_known(const std::string& reason) const;

    const Plan& plan_;
    const NodeFacts& node_;
    Output& output_;
    RoundResult last_round_;
    std::string latest_;     ///< the line printed last
    std::string explained_;  ///< "SIGTERM received"
};

}  // namespace dlaunch::agent
