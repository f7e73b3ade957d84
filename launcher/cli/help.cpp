#include "launcher/cli/help.hpp"

#include <fmt/format.h>

#include "launcher/cli/table.hpp"
#include "launcher/cli/words.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kColumns = 98, kHelpColumn = 30;

constexpr std::string_view kHead = R"(Usage: dlaunch [OPTIONS] PROGRAM [ARGS...]
       dlaunch [OPTIONS] -m MODULE [ARGS...]
       dlaunch backends
       dlaunch check [OPTIONS]
       dlaunch coordinator [OPTIONS]
       dlaunch store [OPTIONS]
       dlaunch version

Starts PROGRAM several times, tells every worker its rank, watches them, restarts them all when one
fails, and says at the end what went wrong first. A PROGRAM that ends in .py runs with Python.
Everything after PROGRAM belongs to PROGRAM.

Examples:
  dlaunch --nproc-per-node=4 ./prog input.txt     four workers of ./prog
  dlaunch --nproc-per-node=auto train.py --lr=1   one worker per GPU, or per core without GPUs
  dlaunch -t 3 --max-restarts=2 -m my.training    prefixed output, files beside it, two more tries
  dlaunch --dry-run --nproc-per-node=2 ./prog     what would be started
)";

constexpr std::string_view kTail = R"(
Options may be written with - or _, as --name=VALUE or --name VALUE, and shortened while they stay
unambiguous. The last one given counts. A variable stands for an option that is not on the command
line: DLAUNCH_MAX_RESTARTS, else PET_MAX_RESTARTS (torchrun's options), for --max-restarts; then
comes the file of --config.

Exit status: 0 all workers succeeded; otherwise that of the first worker that failed, or
  128+n  it was killed by signal n            84  --timeout is over
  126    it cannot be executed                93  crash loop, given up
  127    there is no such program             130, 143  stopped by Ctrl-C, by SIGTERM
  2      wrong usage, nothing was started
More: man dlaunch
)";

/// "-r, --redirects VALUE", indented so that the long names stand in one column.
std::string heading(const Option& option) {
    std::string letter = option.letter ? fmt::format("-{}, ", option.letter) : "    ";
    return fmt::format("  {}--{}{}{}", letter, option.name, option.is_switch() ? "" : " ", option.value);
}

/// Appends words, breaking before the line would get too long.
void wrap_into(std::string& text, std::size_t column, std::string_view words) {
    for (std::string_view word : split(words, ' ')) {
        if (column + 1 + word.size() > kColumns) {
            text += "\n" + std::string(kHelpColumn, ' ');
            column = kHelpColumn;
        } else if (column > kHelpColumn) {
            text += ' ';
            ++column;
        }
        text += word;
        column += word.size();
    }
    text += '\n';
}

}  // namespace

std::string option_help(const Option& option) {
    std::string text = heading(option);
    if (text.size() + 2 > kHelpColumn)
        text += "\n" + std::string(kHelpColumn, ' ');
    else
        text.append(kHelpColumn - text.size(), ' ');
    std::string words(option.help);
    if (!option.fallback.empty()) words += fmt::format(" [{}]", option.fallback);
    wrap_into(text, kHelpColumn, words);
    return text;
}

std::string help_text() {
    std::string text(kHead);
    const Option* before = nullptr;
    for (const Option& option : all_options()) {
        if (!before || before->group != option.group) text += fmt::format("\n{}:\n", title(option.group));
        text += option_help(option);
        before = &option;
    }
    text += kTail;
    return text;
}

}  // namespace dlaunch::launcher
