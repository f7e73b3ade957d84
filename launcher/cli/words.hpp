#pragma once
/// Lists and words in option values. No I/O.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {

using base::split;
using base::trimmed;

/// Comma list in which ,, stands for a comma; empty parts are left out.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);

/// Words as a POSIX shell splits them: blanks, '...', "...", backslash. Nothing is expanded.
[[nodiscard]] base::Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace dlaunch::launcher
