#include "launcher/cli/help.hpp"

#include <fmt/format.h>

#include "launcher/cli/split.hpp"
#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kColumns = 98, kHelpColumn = 30;

constexpr std::string_view kHead = R"(Usage: dlaunch [OPTIONS] PROGRAM [ARGS...]
       dlaunch [OPTIONS] -m MODULE [ARGS...]
       dlaunch [OPTIONS] PROGRAM [ARGS...] : [OPTIONS] PROGRAM [ARGS...] ...
       dlaunch backends
       dlaunch check [OPTIONS]
       dlaunch coordinator [OPTIONS]
       dlaunch hosts [--compress] LIST...
       dlaunch logs [JOB] [-f] [--rank R]
       dlaunch ps
       dlaunch status [JOB] [--json]
       dlaunch stop [JOB]
       dlaunch store [OPTIONS]
       dlaunch token FILE
       dlaunch version

Starts PROGRAM several times and gives every worker its rank. Watches the workers, restarts all of
them when one fails, and reports the first failure at the end. A PROGRAM that ends in .py runs with
Python. Everything after PROGRAM belongs to PROGRAM, up to a lone ':', which begins another program
of the same job.

Examples:
  dlaunch --nproc-per-node=4 ./prog input.txt     four workers of ./prog
  dlaunch --nproc-per-node=auto train.py --lr=1   one worker per GPU, or per core without GPUs
  dlaunch -t 3 --max-restarts=2 -m my.training    prefixed output and log files, up to two restarts
  dlaunch -n 1 ./ps : -n 4 --env=K=V ./worker     two programs, ranks 0 and 1 to 4
  dlaunch --dry-run --nproc-per-node=2 ./prog     the plan, without starting anything
)";

constexpr std::string_view kTail = R"(
Options may be written with - or _, as --name=VALUE or --name VALUE, and abbreviated unambiguously.
The last use counts. An option that is not on the command line is read from a variable
(DLAUNCH_MAX_RESTARTS for --max-restarts, else PET_MAX_RESTARTS for torchrun's options), then from
the file of --config.

Exit status: 0 all workers succeeded; otherwise that of the first worker that failed, or
  128+n  first failure: killed by signal n    84        --timeout exceeded, or a worker hung
  126    PROGRAM cannot be executed           93        crash loop, given up
  127    PROGRAM not found                    130, 143  stopped by Ctrl-C, by SIGTERM
  2      wrong usage, nothing was started     80 to 83  rendezvous, see man dlaunch
More: man dlaunch
)";

/// "-r, --redirects VALUE", with the long names in one column.
std::string heading(const Option& option) {
    std::string letter = option.letter ? fmt::format("-{}, ", option.letter) : "    ";
    return fmt::format("  {}--{}{}{}", letter, option.name, option.is_switch() ? "" : " ", option.value);
}

/// Appends words, and breaks lines at kColumns.
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
