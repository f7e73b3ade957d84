#include "agent/process/limits.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace dlaunch::agent {

std::optional<rlimit> raise_open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return std::nullopt;
    const rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
    return before;
}

std::string too_few_open_files(bool alone) {
    // Loop, logs and signals need some before the first worker. With several nodes this one may host the coordinator.
    const rlim_t least = alone ? 40 : 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= least) return {};
    return fmt::format("too few open files, expected a limit of {} at least (it is {}; raise it with ulimit -n)", least,
                       limit.rlim_max);
}

std::string open_files_hint(int error) {
    rlimit limit{};
    if (error != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
    return fmt::format(" (the limit is {}; raise it with ulimit -n)", limit.rlim_cur);
}

void keep_descriptors() {
    constexpr unsigned kFirst = 3;
    if (syscall(SYS_close_range, kFirst, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
    const auto mark = [](int descriptor) {
        const int flags = fcntl(descriptor, F_GETFD);
        if (flags >= 0) fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC);
    };
    if (DIR* open = opendir("/proc/self/fd")) {
        while (const dirent* entry = readdir(open))
            if (const long number = std::strtol(entry->d_name, nullptr, 10); number >= kFirst)
                mark(static_cast<int>(number));
        closedir(open);
        return;
    }
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_max, 1 << 20));  // the kernel's default maximum
    for (int descriptor = kFirst; descriptor < end; ++descriptor) mark(descriptor);
}

void ignore_write_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dlaunch::agent
