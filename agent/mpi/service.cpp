#include "agent/mpi/service.hpp"

#include <utility>

#include "agent/mpi/pmi1_service.hpp"
#include "agent/mpi/pmix_service.hpp"
#include "agent/mpi/shared_memory_sweep.hpp"

namespace dlaunch::agent {

MpiFamily family_of(const Plan& plan) {
    for (const Context& context : plan.contexts)
        if (context.program.mpi != MpiFamily::none) return context.program.mpi;
    return MpiFamily::none;
}

std::vector<std::unique_ptr<RoundService>> mpi_services(base::Loop& loop, const Plan& plan, Children& children,
                                                        std::function<void(const std::string&)> print) {
    std::vector<std::unique_ptr<RoundService>> services;
    const MpiFamily family = family_of(plan);
    if (family == MpiFamily::none || plan.forks) return services;  // a fork of a template has no descriptor for PMI
    if (family == MpiFamily::pmi1) services.push_back(std::make_unique<Pmi1Service>(loop, plan, std::move(print)));
    if (family == MpiFamily::pmix)
        services.push_back(std::make_unique<PmixService>(loop, plan, children, std::move(print)));
    services.push_back(std::make_unique<SharedMemorySweep>());
    return services;
}

}  // namespace dlaunch::agent
