#pragma once
/// Suggestions for mistyped options and commands.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::launcher {

/// Damerau-Levenshtein (optimal string alignment): insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `typed`, which may be a mistyped prefix; empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& candidates);

/// "; did you mean --nproc-per-node?" for an option's name as typed, without dashes before it; else empty. Knows option
/// names of other launchers: -ppn, --ntasks.
[[nodiscard]] std::string suggestion(std::string_view typed, std::string_view dashes = "--");

/// "DLAUNCH_NPROC_PER_NODE" for DLAUNCH_NPROC, a variable without a meaning that is one slip from an option's, or its
/// first words; else empty.
[[nodiscard]] std::string variable_suggestion(std::string_view name);

/// "; did you mean dlaunch check?" for a missing program with a name near a command's; else empty.
[[nodiscard]] std::string command_suggestion(std::string_view program);

}  // namespace dlaunch::launcher
