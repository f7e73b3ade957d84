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

/// `key = value`, `key = "value"`, `key = ["a", "b"]` or `key` alone (a switch), with an optional # comment behind.
/// None when it is neither. Quotes are removed, nothing in the value is changed otherwise.
[[nodiscard]] std::optional<ConfigLine> parse_config_line(const std::string& line);

}  // namespace dlaunch::launcher
