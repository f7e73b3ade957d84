#include "agent/process/limits.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>

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
    // The loop, the logs and the signals need some before the first worker does; of several nodes any may be the host.
    const rlim_t least = alone ? 24 : 64;
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

void ignore_write_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dlaunch::agent
