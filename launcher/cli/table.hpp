#pragma once
/// Every option of dlaunch, once. Parsing, --help, the man page and the completions all come from this table.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

enum class Group { job, program, rendezvous, endings, logs, watching, general };

struct OptionUse;
struct Settings;

/// Two rows may be names of one option: `same_as` of the second is the name of the first. The last one given counts.
struct Option {
    std::string_view name;          ///< long name with dashes, without the leading two
    std::string_view same_as = {};  ///< the option that this is another name of
    char letter = '\0';
    std::string_view value = {};     ///< "N|cpu|gpu|auto": words in lower case are choices; empty: a switch
    std::string_view fallback = {};  ///< the value when the option is not given; empty: nothing, or `help` explains it
    Group group;
    std::string_view help;
    bool torchrun = false;                 ///< abbreviations are looked for among these first
    bool pet = false;                      ///< PET_<NAME> stands for it
    bool may_be_empty = false;             ///< an empty variable counts; else it is as if unset
    std::string_view other_variable = {};  ///< read when neither of ours nor PET_ is set
    bool repeatable = false;               ///< every use counts; else the last one
    bool only_on_command_line = false;     ///< no variable, no configuration key
    /// Takes a value over into the settings; an error says what was expected. Null: read before there are settings.
    base::Result<void> (*set)(const OptionUse& use, Settings& to) = nullptr;

    /// The same for all names of one option.
    [[nodiscard]] std::string_view key() const { return same_as.empty() ? name : same_as; }
    [[nodiscard]] bool is_switch() const { return value.empty(); }
    /// The words of `value` that stand for themselves.
    [[nodiscard]] std::vector<std::string_view> choices() const;
    /// "DLAUNCH_" or "PET_" before the name in upper case with underscores.
    [[nodiscard]] std::string variable(std::string_view prefix) const;
    /// All variables that set it, the strongest first.
    [[nodiscard]] std::vector<std::string> variables() const;
};

/// What may stand in a program's place, first of all words.
inline constexpr std::string_view kCommands = "backends check coordinator store version";

[[nodiscard]] std::span<const Option> all_options();
[[nodiscard]] std::string_view title(Group group);

/// By long name, dashes or underscores; nullptr when there is none.
[[nodiscard]] const Option* find_option(std::string_view name);
[[nodiscard]] const Option* find_option(char letter);
/// By variable: DLAUNCH_NNODES, PET_NNODES and the like.
[[nodiscard]] const Option* find_variable(std::string_view variable);

/// Names with dashes, whatever was typed.
[[nodiscard]] std::string with_dashes(std::string_view name);

}  // namespace dlaunch::launcher
