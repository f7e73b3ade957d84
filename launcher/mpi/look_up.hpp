#pragma once
/// The look-up of a program's MPI library, which no unresponsive file system can hold up.

#include <chrono>

#include "launcher/mpi/linked.hpp"

namespace dlaunch::launcher {

/// Longest wait for a file system that is not on a local disk.
constexpr std::chrono::milliseconds kLookUpLimit{1000};

/// Reads files on local disks directly, and all others in a process of its own, which is killed after `limit`: then the
/// program counts as one without MPI.
[[nodiscard]] Linked look_up(const ProgramFiles& files, std::chrono::milliseconds limit = kLookUpLimit);

}  // namespace dlaunch::launcher
