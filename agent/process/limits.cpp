#include "agent/process/limits.hpp"

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

void ignore_write_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dlaunch::agent
