#pragma once

#include <dlaunch/options.hpp>
#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// The configuration of a communicator, in the layout of the oldest version of NCCL that has all options which are set.
/// It refers to options.net_name. Throws Error (invalid_argument) if the library of version `loaded` lacks one of them.
[[nodiscard]] Config config_of(const NcclOptions& options, int loaded);

}  // namespace dlaunch::worker::nccl
