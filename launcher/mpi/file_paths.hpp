#pragma once

#include <string>

namespace dlaunch::launcher {

/// Without its last part.
[[nodiscard]] std::string folder_of(const std::string& path);

/// A relative path is meant from the folder.
[[nodiscard]] std::string path_of(const std::string& name, const std::string& folder);

/// Path of the open file, whatever links led to it. Asks no file system. Empty for -1.
[[nodiscard]] std::string true_path_of(int file);

}  // namespace dlaunch::launcher
