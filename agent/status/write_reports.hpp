#pragma once

#include <string>
#include <vector>

#include "agent/errors/report.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Writes the reports of a job's end: the file of --report and, where a worker failed, the agent's own error file.
/// Returns a warning for each file that could not be written.
[[nodiscard]] std::vector<std::string> write_reports(const Plan& plan, const JobResult& end);

}  // namespace dlaunch::agent
