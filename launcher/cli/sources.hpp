#pragma once
/// Where options come from beside the command line, and which source wins. No I/O.

#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/normalize.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Uses by source, the strongest first.
struct Sources {
    std::vector<OptionUse> command_line, own_variables, pet_variables, other_variables, file;
};

/// DLAUNCH_*, PET_* and other variables that stand for options. Empty ones count as unset. Those of a repeatable option
/// hold one value per line.
void read_variables(const Environment& environment, Sources& sources);

/// Reads the text of a --config file: `key = value` lines in CLI11's format, keys as on the command line without the
/// dashes. Strict: an unknown key, a section or a line that is neither is an error that names file and line.
[[nodiscard]] base::Result<std::vector<OptionUse>> read_config(const std::string& name, const std::string& text);

/// All uses from the strongest source that has any, for each option.
[[nodiscard]] std::vector<OptionUse> strongest(const Sources& sources);

}  // namespace dlaunch::launcher
