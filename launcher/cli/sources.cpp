#include "launcher/cli/sources.hpp"

#include <fmt/format.h>

#include <set>

#include "launcher/cli/config_line.hpp"
#include "launcher/cli/split.hpp"
#include "launcher/cli/suggest.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

void add_variable(const Option& option, const std::string& name, const std::string& value, std::vector<OptionUse>& to) {
    if (!option.repeatable) {
        to.push_back({&option, value, spelled(name, "=", value)});
        return;
    }
    for (std::string_view line : split(value, '\n'))
        if (!line.empty()) to.push_back({&option, std::string(line), spelled(name, "=", std::string(line))});
}

/// Joins the lines of one entry (an array may have several), and moves `next` past them.
std::string entry_at(const std::vector<std::string_view>& lines, std::size_t& next) {
    std::string entry(lines[next++]);
    std::size_t equals = entry.find('=');
    bool array = equals != std::string::npos && trimmed(std::string_view(entry).substr(equals + 1)).starts_with('[');
    while (array && next < lines.size() && !trimmed(entry).ends_with(']'))
        entry += " " + std::string(trimmed(lines[next++]));
    return entry;
}

Result<void> add_entry(const std::string& where, const std::string& entry, std::vector<OptionUse>& to) {
    std::string_view text = trimmed(entry);
    if (text.empty() || text[0] == '#' || text[0] == ';') return {};
    if (text[0] == '[')
        return Error{fmt::format("{}: section {}, expected key = value lines without sections", where, one_line(text))};
    auto line = parse_config_line(entry);
    if (!line) return Error{fmt::format("{}: '{}', expected key = value", where, one_line(text))};
    const Option* option = find_option(line->key);
    if (!option || option->only_on_command_line || !option->set)
        return Error{fmt::format("{}: unknown key {}, expected the name of an option{}", where, one_line(line->key),
                                 option ? "" : suggestion(line->key, ""))};
    bool has_value = entry.find('=') != std::string::npos;
    if (!has_value && !option->is_switch())
        return Error{
            fmt::format("{}: {} without a value, expected {} = {}", where, line->key, line->key, option->value)};
    if (!option->repeatable && line->values.size() != 1)
        return Error{fmt::format("{}: {} with {} values, expected one", where, line->key, line->values.size())};
    for (std::string& value : line->values) {
        std::string spelling = where + ": " + spelled(line->key, "=", value);
        to.push_back({option, std::move(value), std::move(spelling)});
    }
    return {};
}

}  // namespace

void read_variables(const Environment& environment, Sources& sources) {
    for (const auto& [name, value] : environment) {
        const Option* option = find_variable(name);
        if (!option || (value.empty() && !option->may_be_empty)) continue;
        auto& source = name.starts_with("DLAUNCH_") ? sources.own_variables
                       : name.starts_with("PET_")   ? sources.pet_variables
                                                    : sources.other_variables;
        add_variable(*option, name, value, source);
    }
}

Result<std::vector<OptionUse>> read_config(const std::string& name, const std::string& text) {
    std::vector<OptionUse> found;
    std::vector<std::string_view> lines = split(text, '\n');
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (lines[0].starts_with(kByteOrderMark)) lines[0].remove_prefix(kByteOrderMark.size());
    for (std::size_t next = 0; next < lines.size();) {
        std::string where = fmt::format("{}:{}", one_line(name), next + 1);
        if (auto added = add_entry(where, entry_at(lines, next), found); !added) return added.error();
    }
    return found;
}

void keep_options_of_contexts(Sources& sources) {
    for (auto* source : {&sources.own_variables, &sources.pet_variables, &sources.other_variables, &sources.file})
        std::erase_if(*source, [](const OptionUse& use) { return !use.option->of_context; });
}

std::vector<OptionUse> strongest(const Sources& sources) {
    std::vector<OptionUse> all;
    std::set<std::string_view> taken;
    for (const auto* source : {&sources.command_line, &sources.own_variables, &sources.pet_variables,
                               &sources.other_variables, &sources.file}) {
        std::set<std::string_view> here;
        for (const OptionUse& use : *source) {
            if (taken.contains(use.option->key())) continue;
            here.insert(use.option->key());
            all.push_back(use);
        }
        taken.merge(here);
    }
    return all;
}

}  // namespace dlaunch::launcher
