#pragma once

#include <string>
#include <vector>

#include "agent/errors/report.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Writes the files that the end of a job is told in: --report, and our own error file where a worker failed. Returns
/// what could not be written, and why.
[[nodiscard]] std::vector<std::string> write_reports(const Plan& plan, const JobEnd& end);

}  // namespace dlaunch::agent
