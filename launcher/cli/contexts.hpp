#pragma once
/// The contexts of a command line: programs side by side, separated by a lone `:`. No I/O.

#include <string>
#include <vector>

#include "launcher/cli/normalize.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Splits the words at each `:`, wherever it stands, and normalizes every part. Words without a `:` are one part.
[[nodiscard]] base::Result<std::vector<Normalized>> normalize_contexts(const std::vector<std::string>& words);

/// Checks what belongs to which context: each has a program, options of the job stand in the first one. A single
/// context may lack a program; make_plan() checks that.
[[nodiscard]] base::Result<void> check_contexts(const std::vector<Normalized>& contexts);

}  // namespace dlaunch::launcher
