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
                                                        MpiCallbacks callbacks) {
    std::vector<std::unique_ptr<RoundService>> services;
    const MpiFamily family = family_of(plan);
    if (family == MpiFamily::none || plan.forks) return services;  // a fork of a template has no descriptor for PMI
    if (family == MpiFamily::pmi1) services.push_back(std::make_unique<Pmi1Service>(loop, plan, callbacks.print));
    if (family == MpiFamily::pmix)
        services.push_back(std::make_unique<PmixService>(loop, plan, children, std::move(callbacks)));
    services.push_back(std::make_unique<SharedMemorySweep>());
    return services;
}

void when_clean(const std::vector<std::unique_ptr<RoundService>>& services, std::function<void()> done) {
    std::function<void()> last = std::move(done);
    for (const auto& service : services)
        last = [each = service.get(), next = std::move(last)] { each->when_clean(next); };
    last();
}

}  // namespace dlaunch::agent
