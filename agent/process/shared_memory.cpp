#include "agent/process/shared_memory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::array<std::string_view, 6> kPrefixes{"mpich_shar_tmp", "ucx_shm_posix_", "vader_segment.",
                                                    "sm_segment.",    "osc_rdma.",      "psm2_shm."};

/// Another process may hold a lease on the file itself, which O_NONBLOCK does not wait for.
bool is_unused(int folder, const std::string& name) {
    const base::UniqueFd file(openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat about {};
    return file && fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
           fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0;
}

}  // namespace

bool is_mpi_segment(std::string_view name) {
    return std::ranges::any_of(kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
}

int remove_unused_segments(const char* folder) {
    DIR* const entries = opendir(folder);
    if (!entries) return 0;
    std::vector<std::string> found;
    while (const dirent* entry = readdir(entries))
        if (is_mpi_segment(entry->d_name)) found.emplace_back(entry->d_name);
    int removed = 0;
    for (const std::string& name : found)
        if (is_unused(dirfd(entries), name) && unlinkat(dirfd(entries), name.c_str(), 0) == 0) ++removed;
    closedir(entries);
    return removed;
}

}  // namespace dlaunch::agent
