#pragma once

namespace dlaunch::worker {

/// Version and a hash of the headers and settings of the build that contains this code. Library and plug-in exchange
/// C++ types, so both must be of one build. Defined by build_id.cmake.
[[nodiscard]] const char* build_id();

}  // namespace dlaunch::worker
