#pragma once
/// dlaunch's own exit statuses. The exit code of a failed worker takes precedence.

#include <csignal>

namespace dlaunch::exit_status {

inline constexpr int kUsage = 2;
inline constexpr int kRendezvousTimeout = 80;
inline constexpr int kCoordinatorLost = 81;
inline constexpr int kNodeUnhealthy = 82;
inline constexpr int kRefused = 83;
inline constexpr int kHang = 84;    ///< also: the job exceeded --timeout
inline constexpr int kGiveUp = 93;  ///< a crash loop: do not requeue
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;

/// The signal of a request to end that has this status; 0: none has.
constexpr int signal_of(int status) {
    if (status <= kSignalBase || status > kSignalBase + 64) return 0;  // it may come from another node: any number
    const int number = status - kSignalBase;
    return number != SIGKILL ? number : 0;
}

}  // namespace dlaunch::exit_status
