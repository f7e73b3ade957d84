#pragma once
/// Lists and words in option values. No I/O.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// At every `at`; nothing between two is an empty part, and an empty text is one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char at);

/// Comma list in which ,, stands for a comma; empty parts are left out.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);

/// Words as a POSIX shell splits them: blanks, '...', "...", backslash. Nothing is expanded.
[[nodiscard]] base::Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace dlaunch::launcher
