#pragma once

#include <string>

namespace dlaunch::agent {

/// Replaces a file whole or not at all (a new file beside it is renamed); devices and pipes are written to. Returns why
/// it could not be written, empty on success.
[[nodiscard]] std::string write_file(const std::string& path, const std::string& text);

}  // namespace dlaunch::agent
