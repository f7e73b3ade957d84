#pragma once

#include <string>

namespace dlaunch::agent {

/// The reason of a failed open(2) of `path` for writing, with O_NONBLOCK. `error` is its errno.
[[nodiscard]] std::string open_error(const std::string& path, int error);

}  // namespace dlaunch::agent
