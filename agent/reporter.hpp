#pragma once

#include <string>

#include "agent/group/environment.hpp"
#include "agent/group/group_shell.hpp"
#include "agent/io/output.hpp"
#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// What the user reads of a job: lines while it runs and the report at its end, no fact twice.
class Reporter {
public:
    /// All must live longer.
    Reporter(const Plan& plan, const NodeFacts& node, Output& output) : plan_(plan), node_(node), output_(output) {}

    /// A line on stderr.
    void say(const std::string& text) { output_.say(text); }
    /// A line that --quiet keeps back.
    void mention(const std::string& text) {
        if (plan_.verbosity >= 0) say(text);
    }

    /// A line from the membership, which goes on after a failure: the failure itself is printed before it.
    void progress(const std::string& text);
    void round_over(const RoundEnd& end) { last_round_ = end; }
    /// The user has been told why this node ends.
    void end_is_explained_by(const std::string& reason) { explained_ = reason; }

    struct Job {
        int rounds = 0;  ///< begun here
        double seconds = 0;
    };
    [[nodiscard]] Output::Ending ending(const JobVerdict& verdict, const Job& job, const GroupShell& group) const;

private:
    [[nodiscard]] JobEnd job_end(const JobVerdict& verdict, const Job& job, const GroupShell& group) const;
    [[nodiscard]] bool is_known(const std::string& reason) const;

    const Plan& plan_;
    const NodeFacts& node_;
    Output& output_;
    RoundEnd last_round_;
    std::string latest_;     ///< the line printed last
    std::string explained_;  ///< "SIGTERM received"
};

}  // namespace dlaunch::agent
