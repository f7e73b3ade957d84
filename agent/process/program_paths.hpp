#pragma once

#include <string>
#include <vector>

namespace dlaunch::agent {

/// Candidate paths of a program: `name` itself if it has a slash, else that name in each folder of `search_path`. Reads
/// no folder, because its file system may not respond.
[[nodiscard]] std::vector<std::string> candidates(const std::string& name, const std::string& search_path);

}  // namespace dlaunch::agent
