/// Configuration files have CLI11's format. Only this file includes CLI11, which takes seconds to compile.
#include "launcher/cli/config_line.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {

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
