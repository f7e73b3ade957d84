#pragma once
/// Asks the scheduler to run the job again after an end by SIGTERM: a time limit or a preemption.

#include <functional>
#include <string>
#include <vector>

#include "agent/errors/report.hpp"
#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"
#include "agent/process/helper.hpp"

namespace dlaunch::agent {

class Requeue {
public:
    /// The arguments must outlive this object.
    Requeue(base::Loop& loop, Children& children, const Plan& plan) : plan_(plan), helper_(loop, children) {}

    /// Requests a requeue if SIGTERM, and no failure, has ended this node, and the scheduler does not end the job for
    /// good. Call when no worker lives, because SLURM signals the job again. `done` receives a line for the user; at
    /// once an empty one if no requeue is due.
    void after(const JobVerdict& verdict, const JobResult& result, std::function<void(const std::string& line)> done);
    /// The scheduler may have signalled this process as a consequence.
    [[nodiscard]] bool has_asked() const { return has_asked_; }

private:
    void run(const std::vector<std::string>& command, std::function<void(const Helper::Result&)> done);
    void give_order(const std::function<void(const std::string&)>& done);

    const Plan& plan_;
    Helper helper_;
    bool has_asked_ = false;
};

}  // namespace dlaunch::agent
