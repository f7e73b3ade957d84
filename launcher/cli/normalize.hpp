#pragma once
/// argv -> options with their values and the program's words. The spellings of torchrun's argparse are resolved here,
/// before CLI11 sees anything: dashes or underscores, = or space, -r3, beginnings of names, `--`. No I/O.

#include <string>
#include <vector>

#include "launcher/cli/table.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// One use of an option, wherever it was: command line, variable or file.
struct OptionUse {
    const Option* option = nullptr;
    std::string value;     ///< "1" for a switch without a value
    std::string spelling;  ///< how an error names it: "--nproc-per-node=banana", "PET_TEE=7", "job.conf:3: tee=7"
};

struct Normalized {
    std::vector<OptionUse> options;    ///< in the order given
    std::vector<std::string> program;  ///< the program's name and arguments, byte for byte; may be empty
};

/// `words` is argv without argv[0].
[[nodiscard]] base::Result<Normalized> normalize(const std::vector<std::string>& words);

/// "name=value" for an error, one line and not endless whatever the value is.
[[nodiscard]] std::string spelled(const std::string& name, std::string_view joint, const std::string& value);

/// `text` with control characters escaped: a single line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace dlaunch::launcher
