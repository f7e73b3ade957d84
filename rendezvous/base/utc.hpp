#pragma once
/// Times for people.

#include <chrono>
#include <string>

namespace dlaunch::base {

/// "2026-11-23T03:46:37.123Z": UTC, whole milliseconds.
[[nodiscard]] std::string utc_text(std::chrono::system_clock::time_point when);

/// "20261123-034637": the same in a name of a file.
[[nodiscard]] std::string utc_file_name(std::chrono::system_clock::time_point when);

}  // namespace dlaunch::base
