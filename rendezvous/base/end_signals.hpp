#pragma once
/// The signals that ask for the end of a job, as long as the user names no others (--signals-to-handle).

#include <algorithm>
#include <array>
#include <csignal>

namespace dlaunch::base {

inline constexpr std::array kEndSignals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

[[nodiscard]] constexpr bool asks_to_end(int signal) {
    return std::find(kEndSignals.begin(), kEndSignals.end(), signal) != kEndSignals.end();
}

}  // namespace dlaunch::base
