#pragma once
/// Text from outside, made safe for a terminal and for JSON. Whatever the bytes are, nothing is lost: what cannot stand
/// as it is becomes \xNN.

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch::agent {

/// The length of the well-formed UTF-8 sequence that begins at text[at] (1..4); 0 where there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

/// Control characters (all but tab) and bytes that are not UTF-8 as \xNN; line ends too, so split first.
[[nodiscard]] std::string printable(std::string_view text);

/// The text with only the bytes that are not UTF-8 as \xNN; what a JSON library takes without complaint.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// A JSON string, quotes included; bytes that are not UTF-8 as \\xNN.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace dlaunch::agent
