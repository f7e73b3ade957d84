#pragma once
/// The width of texts on a terminal. No I/O.

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch::base {

/// Columns on a terminal, never too few where boxes and blocks have one: what may be wide is taken for wide.
[[nodiscard]] std::size_t columns(std::string_view text);

/// Columns on a terminal, never too many: characters that some terminal combines with their neighbours take none.
[[nodiscard]] std::size_t least_columns(std::string_view text);

/// At most `most` columns (3 at least): the middle gives way to "...". Never cuts a character.
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t most);

}  // namespace dlaunch::base
