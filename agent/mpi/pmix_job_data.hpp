#pragma once
/// The description of a round for PMIx: what its ranks may ask of their job, their node and each other.

#include "agent/mpi/pmix_info.hpp"
#include "agent/mpi/pmix_job.hpp"
#include "agent/mpi/pmix_library.hpp"

namespace dlaunch::agent {

[[nodiscard]] PmixInfos job_data(const PmixLibrary& library, const PmixJob& job);

}  // namespace dlaunch::agent
