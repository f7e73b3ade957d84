#pragma once
/// Every option of dlaunch, once. Parsing, --help, the man page and the completions all come from this table.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

enum class Group { job, program, rendezvous, hosts, endings, logs, watching, general };

struct OptionUse;
struct Settings;

/// Two rows may name one option: `same_as` of the second is the name of the first. The last use counts, unless the rows
/// differ in the meaning of their values (`alone`).
struct Option {
    std::string_view name;          ///< long name with dashes, without the leading two
    std::string_view same_as = {};  ///< name of the option of which this row is an alias
    bool alone = false;             ///< one source may not use both `same_as` and this row
    char letter = '\0';
    std::string_view value = {};     ///< "N|cpu|gpu|auto": lower-case words are choices; empty: a switch
    std::string_view fallback = {};  ///< default value; empty: none, or `help` describes it
    Group group;
    std::string_view help;
    bool torchrun = false;                 ///< an option of torchrun: takes precedence in abbreviations
    bool pet = false;                      ///< PET_<NAME> sets it
    bool may_be_empty = false;             ///< an empty variable counts; else it counts as unset
    std::string_view other_variable = {};  ///< read if neither DLAUNCH_ nor PET_ is set
    bool repeatable = false;               ///< every use counts; else the last one
    bool only_on_command_line = false;     ///< no variable, no configuration key
    bool of_context = false;               ///< each context may use it; else only the first, for the whole job
    /// Stores the value in the settings, or returns what was expected. Null: read before the settings exist.
    base::Result<void> (*set)(const OptionUse& use, Settings& to) = nullptr;

    /// The option's main name, equal for all its aliases.
    [[nodiscard]] std::string_view key() const { return same_as.empty() ? name : same_as; }
    [[nodiscard]] bool is_switch() const { return value.empty(); }
    /// Prints a text in place of a run.
    [[nodiscard]] bool is_text() const { return only_on_command_line && !set; }
    /// The choices in `value`.
    [[nodiscard]] std::vector<std::string_view> choices() const;
    /// "DLAUNCH_" or "PET_" before the name in upper case with underscores.
    [[nodiscard]] std::string variable(std::string_view prefix) const;
    /// All variables that set it, the strongest first.
    [[nodiscard]] std::vector<std::string> variables() const;
};

/// Commands: words accepted in place of PROGRAM as the first argument.
inline constexpr std::string_view kCommands =
    "backends check coordinator hosts logs ps status stop store token version";

/// All but hidden ones, which only find_option() knows.
[[nodiscard]] std::span<const Option> all_options();
[[nodiscard]] std::string_view title(Group group);

/// By long name, with dashes or underscores; null if there is none.
[[nodiscard]] const Option* find_option(std::string_view name);
[[nodiscard]] const Option* find_option(char letter);
/// By variable: DLAUNCH_NNODES, PET_NNODES and the like.
[[nodiscard]] const Option* find_variable(std::string_view variable);

/// Replaces underscores by dashes.
[[nodiscard]] std::string with_dashes(std::string_view name);

}  // namespace dlaunch::launcher
