#pragma once
/// One entry of a configuration file, read by CLI11.

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::launcher {

struct ConfigLine {
    std::string key;
    std::vector<std::string> values;  ///< several for an array: key = ["a", "b"]
};

/// `key = value`, `key = "value"`, `key = ["a", "b"]` or `key` alone (a switch), with an optional # comment after it.
/// None if the line has another form. Removes quotes, and changes nothing else in the value.
[[nodiscard]] std::optional<ConfigLine> parse_config_line(const std::string& line);

}  // namespace dlaunch::launcher
