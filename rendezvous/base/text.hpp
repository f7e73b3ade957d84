#pragma once
/// Small operations on texts. No I/O.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::base {

/// Without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// With the small ones in place of ASCII's capital letters.
[[nodiscard]] std::string in_lower_case(std::string_view text);

/// Splits at every `at`. Adjacent separators enclose an empty part, and an empty text is one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char at);

/// "0-3,8" for {0, 1, 2, 3, 8}, with any separator; the order of the numbers does not matter.
[[nodiscard]] std::string number_ranges(std::vector<int> numbers, std::string_view separator = ",");

/// Whether `$$` stays or becomes `$`.
enum class TwoDollars { kept, one };

/// Replaces $name and ${name} as Python's string.Template.safe_substitute does: names without a value stay.
[[nodiscard]] std::string substitute(std::string_view text, TwoDollars two_dollars,
                                     std::initializer_list<std::pair<std::string_view, std::string_view>> values);

}  // namespace dlaunch::base
