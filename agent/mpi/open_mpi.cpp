#include "agent/mpi/open_mpi.hpp"

#include <algorithm>
#include <string_view>

#include "agent/mpi/foreign_variables.hpp"

namespace dlaunch::agent {
namespace {

using Entry = Variables::value_type;

bool is_set(const Plan& plan, const Context& context, std::string_view name) {
    return std::ranges::find(context.program.environment, name, &Entry::first) != context.program.environment.end() ||
           plan.host.variable(name).has_value();
}

}  // namespace

Variables open_mpi_defaults(const Plan& plan, const Context& context, const OpenMpiPlace& place) {
    Variables defaults;
    // Open MPI 4 looks for its own daemon first, and takes a rank without one for a world of its own.
    defaults.emplace_back("OMPI_MCA_schizo", "^orte");
    // Open MPI 4 and 5 call the same component differently. A rank that is killed leaves its files.
    if (!place.memory.empty()) {
        defaults.emplace_back("OMPI_MCA_btl_vader_backing_directory", place.memory);
        defaults.emplace_back("OMPI_MCA_btl_sm_backing_directory", place.memory);
    }
    // With more ranks than cores, a waiting rank must yield its core.
    if (place.oversubscribed) defaults.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
    std::erase_if(defaults, [&](const Entry& one) { return is_set(plan, context, one.first); });
    return defaults;
}

/// With PMIx's other way to hand data to ranks, files that they map, each rank prints an error when it ends.
Variables pmix_server_environment(const Host& host) {
    Variables environment;
    for (const Entry& variable : host.environment)
        if (!is_of_other_starter(variable.first)) environment.push_back(variable);
    if (!host.variable("PMIX_MCA_gds")) environment.emplace_back("PMIX_MCA_gds", "hash");
    return environment;
}

}  // namespace dlaunch::agent
