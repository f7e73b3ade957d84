#pragma once
/// The sources of options beside the command line, and their precedence. No I/O.

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

/// Reads DLAUNCH_*, PET_* and other variables that set options. Empty ones count as unset. A repeatable option's
/// variable holds one value per line.
void read_variables(const Environment& environment, Sources& sources);

/// Reads the text of a --config file: `key = value` lines in CLI11's format, keys as on the command line without the
/// dashes. An unknown key, a section or any other line is an error that names file and line.
[[nodiscard]] base::Result<std::vector<OptionUse>> read_config(const std::string& name, const std::string& text);

/// Drops the variables' and the file's uses of options of the job: what is left is the default of a later context.
void keep_options_of_contexts(Sources& sources);

/// For each option, its uses in the strongest source that has any.
[[nodiscard]] std::vector<OptionUse> strongest(const Sources& sources);

}  // namespace dlaunch::launcher
