#pragma once
/// Removes the shared-memory files that killed ranks leave in /dev/shm. MPI libraries make such a file, map it in the
/// ranks of a node, and unlink it: a rank that dies in between leaves its memory in use for ever.

#include <string_view>

namespace dlaunch::agent {

inline constexpr const char* kSharedMemory = "/dev/shm";

/// Whether a library of MPI gives this name to its files: MPICH, UCX, Open MPI, PSM2.
[[nodiscard]] bool is_mpi_segment(std::string_view name);

/// Removes this user's files with such names in `folder` that no process has open or mapped. A write lease shows that:
/// the kernel grants it for a file without other users only. Returns the number of removed files.
int remove_unused_segments(const char* folder);

}  // namespace dlaunch::agent
