#pragma once
/// Settings that Open MPI needs under dlaunch. Each is a default: what the user has set stays.

#include <string>

#include "agent/plan.hpp"

namespace dlaunch::agent {

struct OpenMpiPlace {
    std::string memory;           ///< folder for files of shared memory; empty: none
    bool oversubscribed = false;  ///< the node has more ranks than usable cores
};

/// For a worker of this context.
[[nodiscard]] Variables open_mpi_defaults(const Plan& plan, const Context& context, const OpenMpiPlace& place);

/// The environment of the node's PMIx server: dlaunch's own without the variables of another starter.
[[nodiscard]] Variables pmix_server_environment(const Host& host);

}  // namespace dlaunch::agent
