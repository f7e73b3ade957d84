#pragma once
/// Makes untrusted text safe for a terminal and for JSON. Unsafe bytes become \xNN, so nothing is lost.

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch::base {

/// The length (1..4) of the well-formed UTF-8 sequence at text[at]; 0: none.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

/// Escapes control characters except tab, characters that turn the direction of writing, and bytes that are not UTF-8.
/// Escapes line ends, too, so split lines first.
[[nodiscard]] std::string printable(std::string_view text);

/// Escapes only bytes that are not UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// A JSON string with its quotes; bytes that are not UTF-8 as \\xNN.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace dlaunch::base
