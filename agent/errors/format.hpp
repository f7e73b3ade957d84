#pragma once
/// Formats durations, sizes and long texts for the report.

#include <cstddef>
#include <string>
#include <string_view>

#include "rendezvous/base/columns.hpp"

namespace dlaunch::agent {

/// "45 ms", "12.3 s", "45 min 12 s", "8 h 12 min", "3 d 4 h".
[[nodiscard]] std::string duration_text(double seconds);

/// "640 KiB", "1.2 GiB".
[[nodiscard]] std::string size_text(double bytes);

using base::columns;
using base::shorten_middle;

}  // namespace dlaunch::agent
