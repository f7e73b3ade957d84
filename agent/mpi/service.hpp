#pragma once
/// Chooses the services that a job with MPI programs needs.

#include <functional>
#include <memory>
#include <vector>

#include "agent/mpi/family.hpp"
#include "agent/mpi/mpi_callbacks.hpp"
#include "agent/plan.hpp"
#include "agent/process/children.hpp"
#include "agent/services/round_service.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The job's family: that of the first context that has one. Ranks of all contexts take part.
[[nodiscard]] MpiFamily family_of(const Plan& plan);

/// Empty for a job without MPI. The arguments must outlive the services.
[[nodiscard]] std::vector<std::unique_ptr<RoundService>> mpi_services(base::Loop& loop, const Plan& plan,
                                                                      Children& children, MpiCallbacks callbacks);

/// Calls `done`, at once or later from the loop, when all services are clean.
void when_clean(const std::vector<std::unique_ptr<RoundService>>& services, std::function<void()> done);

}  // namespace dlaunch::agent
