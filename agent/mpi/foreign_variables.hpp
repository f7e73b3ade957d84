#pragma once

#include <string_view>

namespace dlaunch::agent {

/// Whether another starter of MPI programs sets the variable for its own ranks: mpiexec, mpirun, prterun, srun. Such a
/// variable would lead an MPI library to that starter's job. Variables by which users configure their library are none,
/// such as OMPI_MCA_btl, MPIR_CVAR_ASYNC_PROGRESS, PMIX_MCA_gds and UCX_TLS.
[[nodiscard]] bool is_of_other_starter(std::string_view name);

}  // namespace dlaunch::agent
