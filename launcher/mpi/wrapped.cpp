#include "launcher/mpi/wrapped.hpp"

#include <algorithm>
#include <array>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::array<std::string_view, 27> kWrappers{
    "env",    "nice",   "time",     "timeout", "numactl", "taskset", "stdbuf",    "setarch",  "chrt",
    "ionice", "nohup",  "setsid",   "sh",      "bash",    "dash",    "zsh",       "ksh",      "gdb",
    "strace", "ltrace", "valgrind", "perf",    "nsys",    "ncu",     "catchsegv", "xvfb-run", "prlimit"};
constexpr std::array<std::string_view, 8> kLaunchers{"mpirun", "mpiexec", "orterun",  "prterun",
                                                     "prun",   "srun",    "torchrun", "dlaunch"};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_wrapper(std::string_view path) { return std::ranges::find(kWrappers, file_name(path)) != kWrappers.end(); }

/// "/opt/mpi/bin/mpiexec.hydra", too.
bool is_launcher(std::string_view path) {
    const std::string_view name = file_name(path);
    return std::ranges::find(kLaunchers, name.substr(0, name.find('.'))) != kLaunchers.end();
}

/// Words as a shell ends them, without comments.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (std::string_view line : split(text, '\n')) {
        line = line.substr(0, trimmed(line).starts_with('#') ? 0 : line.find(" #"));
        while (!line.empty()) {
            const std::size_t begin = line.find_first_not_of(" \t\r'\"`;&|()<>{}");
            if (begin == std::string_view::npos) break;
            const std::size_t end = std::min(line.find_first_of(" \t\r'\"`;&|()<>{}", begin), line.size());
            words.emplace_back(line.substr(begin, end - begin));
            line.remove_prefix(end);
        }
    }
    return words;
}

bool may_be_a_name(std::string_view word) {
    return !word.starts_with('-') && word.find_first_of("=$*?[\\") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> names_behind(const std::vector<std::string>& command, std::string_view script) {
    std::vector<std::string> words = words_of(script), names;
    if (is_wrapper(command.front()))
        for (std::size_t at = 1; at < command.size(); ++at)
            for (std::string& word : words_of(command[at])) words.push_back(std::move(word));
    for (std::string& word : words) {
        if (is_launcher(word)) return {};
        if (names.size() == kMostWrapped || !may_be_a_name(word)) continue;
        if (std::ranges::find(names, word) == names.end()) names.push_back(std::move(word));
    }
    return names;
}

}  // namespace dlaunch::launcher
