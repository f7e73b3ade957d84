#pragma once
/// Lists and words in option values. No I/O.

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {

using base::split;
using base::trimmed;

/// Splits a comma-separated list. ,, is a comma; empty parts are dropped.
[[nodiscard]] std::vector<std::string> comma_list(std::string_view text);

/// Splits words as a POSIX shell does: blanks, '...', "...", backslash. No expansions.
[[nodiscard]] base::Result<std::vector<std::string>> shell_words(std::string_view text);

}  // namespace dlaunch::launcher
