#pragma once
/// Conversion between signal names, as kill(1) and shells use them, and numbers.

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::base {

/// "SIGTERM", "SIGRTMIN+3"; "signal 99" for a number without a name.
[[nodiscard]] std::string signal_name(int signal);

/// Parses "TERM", "SIGTERM", "15", "SIGRTMIN+3", "rtmax-1" (case is ignored). None for anything else, for 0 and for the
/// two signals that the C library reserves.
[[nodiscard]] std::optional<int> signal_number(std::string_view text);

}  // namespace dlaunch::base
