#pragma once
/// One entry of a host list: text with ranges of numbers in brackets, as SLURM and pdsh write it. No I/O.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

inline constexpr std::size_t kMostHostNameBytes = 255;  ///< as in POSIX
inline constexpr std::size_t kMostHosts = 131'072;      ///< in one list: bounds its memory to some 50 MB

/// Expands "r[1-2]n[08-10]-ib": the last bracket changes fastest, numbers have at least the digits of the first number
/// of their range. More than `most` names, of the kMostHosts of a list, are an error, which is found before any memory
/// is taken. Errors contain the pattern and the range.
[[nodiscard]] base::Result<std::vector<std::string>> expand_host_pattern(std::string_view pattern, std::size_t most);

/// Whether a text is a host or user name: letters, digits, '-', '.', '_' and '+', without a dash at the beginning, for
/// ssh would read that as an option.
[[nodiscard]] bool is_host_name(std::string_view text);

/// A text for an error, shortened to 200 bytes.
[[nodiscard]] std::string shown_pattern(std::string_view text);

}  // namespace dlaunch::launcher
