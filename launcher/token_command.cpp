#include "launcher/token_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/subcommands.hpp"
#include "launcher/print_error.hpp"
#include "rendezvous/auth/token.hpp"

namespace dlaunch::launcher {
namespace {

constexpr const char* kHelp =
    R"(Usage: dlaunch token FILE

Makes a job token, 32 random bytes as one line of text, in a new file that only you can read.

{}
Exit status: 0 made; 2 FILE exists or cannot be made, or wrong usage
More: man dlaunch-token
)";

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// The file's name; a name with a dash in front follows "--".
base::Result<std::string> file_of(std::vector<std::string> words) {
    const bool has_end = !words.empty() && words[0] == "--";
    if (has_end) words.erase(words.begin());
    if (!has_end && !words.empty() && words[0].starts_with('-'))
        return base::Error{fmt::format("unknown option {}, expected dlaunch token FILE", words[0])};
    if (words.size() != 1 || words[0].empty())
        return base::Error{
            fmt::format("{}, expected dlaunch token FILE", words.size() > 1 ? "several files" : "no file given")};
    return base::text_result(words[0]);
}

}  // namespace

int run_token(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && is_help(arguments[0]))
        return std::fputs(fmt::format(kHelp, options_help("token")).c_str(), stdout) < 0 || std::fflush(stdout) != 0;
    const auto file = file_of(arguments);
    const auto made = file ? auth::make_token_file(*file) : base::Result<void>(file.error());
    return made ? 0 : print_error({"token: " + one_line(made.error().text), made.error().status});
}

}  // namespace dlaunch::launcher
