#pragma once
/// Formats durations, sizes and long texts for the report.

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch::agent {

/// "45 ms", "12.3 s", "45 min 12 s", "8 h 12 min", "3 d 4 h".
[[nodiscard]] std::string duration_text(double seconds);

/// "640 KiB", "1.2 GiB".
[[nodiscard]] std::string size_text(double bytes);

/// Columns on a terminal, never too few: everything from U+1100 up is taken for wide.
[[nodiscard]] std::size_t columns(std::string_view text);

/// At most `most` columns (3 at least): the middle gives way to "...". Never cuts a character.
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t most);

}  // namespace dlaunch::agent
