#pragma once

#include <string>

namespace dlaunch::launcher {

/// Path of the open file, whatever links led to it. Asks no file system. Empty for -1.
[[nodiscard]] std::string true_path_of(int file);

}  // namespace dlaunch::launcher
