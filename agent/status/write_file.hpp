#pragma once

#include <string>

namespace dlaunch::agent {

/// Replaces a regular file atomically, by renaming a new file; writes in place where that is impossible (links,
/// devices, pipes). Returns the path with the reason of a failure, empty on success.
[[nodiscard]] std::string write_file(const std::string& path, const std::string& text);

}  // namespace dlaunch::agent
