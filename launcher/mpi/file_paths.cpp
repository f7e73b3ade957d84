#include "launcher/mpi/file_paths.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace dlaunch::launcher {

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string path_of(const std::string& name, const std::string& folder) {
    return name.starts_with('/') ? name : fmt::format("{}/{}", folder, name);
}

std::string true_path_of(int file) {
    std::array<char, 4096> path;
    const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", file).c_str(), path.data(), path.size());
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace dlaunch::launcher
