#pragma once

#include "agent/errors/report.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Of a job that ends now after `seconds`.
void set_times(double seconds, JobResult& to);

/// Fills in the facts that the plan of a job knows, and the times of a job that ends now after `seconds`. To be called
/// when `to.failures` is complete.
void describe_job(const Plan& plan, double seconds, JobResult& to);

/// For standard error as it is now.
[[nodiscard]] ReportStyle report_style(const Plan& plan);

}  // namespace dlaunch::agent
