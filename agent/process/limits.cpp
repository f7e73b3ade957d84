#include "agent/process/limits.hpp"

#include <fmt/format.h>

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

std::string too_few_open_files() {
    constexpr rlim_t kLeast = 24;  // the loop, the logs and the signals need some before the first worker does
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= kLeast) return {};
    return fmt::format("too few open files, expected a limit of {} at least (it is {}; raise it with ulimit -n)",
                       kLeast, limit.rlim_max);
}

void ignore_write_signals() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dlaunch::agent
