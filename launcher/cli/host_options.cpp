#include "launcher/cli/host_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;

constexpr std::array<std::pair<std::string_view, Starter>, 5> kStarters{{{"ssh", Starter::ssh},
                                                                         {"pdsh", Starter::pdsh},
                                                                         {"srun", Starter::srun},
                                                                         {"fork", Starter::fork},
                                                                         {"manual", Starter::manual}}};

/// Whether a shell could have set such a variable.
bool is_variable_name(std::string_view text) {
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, [](char c) {
        return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
}

}  // namespace

Parsed<Starter> parse_starter(std::string_view text) {
    const auto found = std::ranges::find(kStarters, trimmed(text), &std::pair<std::string_view, Starter>::first);
    if (found == kStarters.end()) return Error{"expected ssh, pdsh, srun, fork or manual"};
    return found->second;
}

std::string_view starter_name(Starter starter) {
    return std::ranges::find(kStarters, starter, &std::pair<std::string_view, Starter>::second)->first;
}

Parsed<std::vector<HostEntry>> parse_hosts(std::string_view text) {
    auto hosts = parse_host_list(text);
    if (!hosts) return hosts;
    if (const HostEntry* const repeated = repeated_host(*hosts))
        return Error{
            fmt::format("{} twice, expected each host once; {}:2 has two slots", repeated->name, repeated->name)};
    return hosts;
}

Parsed<std::optional<int>> parse_limit(std::string_view text, std::string_view what, int most) {
    if (trimmed(text) == "-1") return std::optional<int>();
    const auto number = whole_number(text, 1, most);
    if (!number) return Error{fmt::format("expected {} from 1 to {}, or -1 for all", what, most)};
    return std::optional(static_cast<int>(*number));
}

Parsed<ExportRule> parse_export(std::string_view text) {
    const auto parts = split(text, ',');
    ExportRule rule{false, {}, {}};
    if (trimmed(text) == "NONE") return rule;
    for (const std::string_view part : parts) {
        const std::size_t equals = part.find('=');
        const std::string_view name = trimmed(part.substr(0, equals));
        if (!is_variable_name(name) || name == "NONE")
            return Error{"expected ALL, NONE, or names of variables as NAME or NAME=VALUE with commas between them"};
        if (equals != part.npos)
            rule.values.emplace_back(name, part.substr(equals + 1));
        else if (name == "ALL")
            rule.all = true;
        else
            rule.names.emplace_back(name);
    }
    return rule;
}

}  // namespace dlaunch::launcher
