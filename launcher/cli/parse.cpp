/// The only file that includes CLI11: it costs seconds to compile.
///
/// normalize() has already told names, values and the program apart, so CLI11 gets `--name`, `value` pairs: the form in
/// which it takes a value byte for byte, empty or beginning with a dash. Only the options that were mentioned become
/// part of the App, which keeps start-up in microseconds.
#include "launcher/cli/parse.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "launcher/cli/config_line.hpp"
#include "launcher/cli/words.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// What one option of the App was given, and the first error among it.
struct Mentions {
    std::vector<const Given*> all;
    std::size_t checked = 0;

    /// CLI11 validates the values in the order given.
    std::string check_next(std::optional<Error>& error) {
        Settings scratch;
        auto done = apply(*all.at(checked++), scratch);
        if (!done && !error) error = done.error();
        return done ? std::string() : done.error().text;
    }
};

/// All names in the table for one Id: "--shutdown-timeout,--grace".
std::string names_of(Id id) {
    std::string names;
    for (const Option& option : all_options())
        if (option.id == id) names += (names.empty() ? "--" : ",--") + std::string(option.name);
    return names;
}

void add_option(CLI::App& app, Mentions& mentions, Settings& settings, std::optional<Error>& error) {
    const Option& row = *mentions.all.front()->option;
    CLI::callback_t use = [&mentions, &settings, &error](const CLI::results_t& results) {
        // With TakeLast one result is left, which belongs to the last mention.
        for (std::size_t i = mentions.all.size() - results.size(); i < mentions.all.size(); ++i)
            if (auto done = apply(*mentions.all[i], settings); !done) error = done.error();
        return !error;
    };
    CLI::Option* option = app.add_option(names_of(row.id), use);
    option->multi_option_policy(row.repeatable ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::TakeLast);
    if (row.repeatable) option->expected(1, CLI::detail::expected_max_vector_size);
    option->allow_extra_args(false);
    option->check(
        CLI::Validator([&mentions, &error](std::string&) { return mentions.check_next(error); }, std::string()));
}

}  // namespace

Result<Settings> parse(const std::vector<Given>& given) {
    Settings settings;
    std::optional<Error> error;
    std::map<Id, Mentions> mentions;
    std::vector<std::string> words;
    for (const Given& one : given) {
        mentions[one.option->id].all.push_back(&one);
        words.push_back("--" + std::string(one.option->name));
        words.push_back(one.value);
    }
    try {
        CLI::App app;
        app.set_help_flag();
        for (auto& [id, of_option] : mentions) add_option(app, of_option, settings, error);
        std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
        app.parse(std::move(words));
    } catch (const CLI::ParseError& problem) {
        return error ? *error : Error{problem.what()};
    }
    return settings;
}

std::optional<ConfigLine> parse_config_line(const std::string& line) {
    // CLI11 cuts at a # even inside quotes, and splits unquoted values at commas and blanks; both would change values.
    char quote = '\0';
    std::size_t end = 0;
    for (; end < line.size() && (quote != '\0' || line[end] != '#'); ++end) {
        bool is_quote = line[end] == '"' || line[end] == '\'';
        if (quote == '\0' && is_quote)
            quote = line[end];
        else if (line[end] == quote)
            quote = '\0';
    }
    std::string entry = line.substr(0, end);
    std::size_t equals = entry.find('=');
    if (quote != '\0' && equals != std::string::npos &&
        trimmed(std::string_view(entry).substr(equals + 1)).starts_with(quote))
        return std::nullopt;
    bool array = equals != std::string::npos && trimmed(std::string_view(entry).substr(equals + 1)).starts_with('[');
    if (array && !trimmed(entry).ends_with(']')) return std::nullopt;
    CLI::ConfigBase reader;
    reader.comment('\0');
    if (!array) reader.arrayBounds('\1', '\1')->arrayDelimiter('\1');
    // CLI11 skips lines of fewer than three characters.
    std::istringstream input(equals == std::string::npos ? entry
                                                         : entry.substr(0, equals) + " = " + entry.substr(equals + 1));
    std::vector<CLI::ConfigItem> items = reader.from_config(input);
    if (items.size() != 1 || items[0].name.empty() || items[0].name == "++" || items[0].name == "--")
        return std::nullopt;
    return ConfigLine{items[0].fullname(), std::move(items[0].inputs)};
}

}  // namespace dlaunch::launcher
