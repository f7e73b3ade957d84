#pragma once
/// Splits argv into options with their values and the program's words. Resolves the spellings of torchrun's argparse:
/// dashes or underscores, = or space, -r3, abbreviations, `--`. No I/O.

#include <string>
#include <vector>

#include "launcher/cli/table.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// One use of an option on the command line, in a variable or in a file.
struct OptionUse {
    const Option* option = nullptr;
    std::string value;     ///< "1" for a switch without a value
    std::string spelling;  ///< for errors: "--nproc-per-node=banana", "PET_TEE=7", "job.conf:3: tee=7"
};

struct Normalized {
    std::vector<OptionUse> options;    ///< in the order given
    std::vector<std::string> program;  ///< the program's name and arguments, byte for byte; may be empty
};

/// `words` is argv without argv[0].
[[nodiscard]] base::Result<Normalized> normalize(const std::vector<std::string>& words);

/// "name=value" for an error: one line, with long values shortened.
[[nodiscard]] std::string spelled(const std::string& name, std::string_view joint, const std::string& value);

/// Escapes control characters, so that the text is a single line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace dlaunch::launcher
