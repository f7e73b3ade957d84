#include "launcher/cli/normalize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "launcher/cli/other_launchers.hpp"
#include "launcher/cli/suggest.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// By argparse's rule, a word like -1 or -.5 is a value, not an option.
bool is_negative_number(std::string_view word) {
    if (word.size() < 2 || word[0] != '-') return false;
    std::string_view digits = word.substr(1);
    return digits.find_first_not_of("0123456789.") == std::string_view::npos && digits.back() != '.' &&
           std::ranges::count(digits, '.') <= 1;
}

/// Whether a word may be the value of the preceding option: it has no leading dash, or is a negative number, or
/// contains a blank.
bool can_be_value(std::string_view word) {
    if (word.size() < 2 || word[0] != '-') return true;
    return is_negative_number(word) || word.find(' ') != std::string_view::npos;
}

/// Options with this prefix, without aliases; either torchrun's or dlaunch's own.
std::vector<const Option*> beginning_with(std::string_view name, bool torchrun) {
    std::vector<const Option*> found;
    for (const Option& option : all_options()) {
        bool known = std::ranges::any_of(found, [&](const Option* other) { return other->key() == option.key(); });
        if (option.torchrun == torchrun && option.name.starts_with(name) && !known) found.push_back(&option);
    }
    return found;
}

Error unknown(const std::string& word, std::string_view name) {
    return {fmt::format("unknown option {}, expected an option of dlaunch --help{}", one_line(word), suggestion(name))};
}

/// Finds a long option by its name or an unambiguous prefix.
Result<const Option*> resolve(const std::string& word, std::string_view typed) {
    if (const Option* exact = find_option(typed)) return exact;
    std::string name = with_dashes(typed);
    if (name.empty()) return unknown(word, name);
    // dlaunch's own options must not make an abbreviation of torchrun's ambiguous.
    std::vector<const Option*> found = beginning_with(name, true);
    if (found.empty()) found = beginning_with(name, false);
    if (found.empty()) return unknown(word, name);
    if (found.size() == 1) return found[0];
    std::string names;
    for (const Option* option : found) names += fmt::format("{}--{}", names.empty() ? "" : ", ", option->name);
    return Error{fmt::format("{}: ambiguous, expected one of {}", one_line(word), names)};
}

/// Whether the rest of a word after -n is its value: 4 or =4. Other characters make it a mistyped long name.
bool is_number_or_value(std::string_view text) { return text[0] == '=' || (text[0] >= '0' && text[0] <= '9'); }

/// -np, -np4, -np=4: mpiexec's name for -n.
bool is_mpiexecs_np(std::string_view word) {
    return word.starts_with("-np") && (word.size() == 3 || is_number_or_value(word.substr(3)));
}

class Reader {
public:
    explicit Reader(const std::vector<std::string>& words) : words_(words) {}

    Result<Normalized> read() {
        for (; next_ < words_.size(); ++next_) {
            const std::string& word = words_[next_];
            bool ends = word == "--";
            if (ends) ++next_;
            if (ends || word.size() < 2 || word[0] != '-') break;
            Result<void> taken = word[1] == '-' ? take_long(word) : take_short(word);
            if (!taken) return taken.error();
        }
        auto program = words_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, words_.size()));
        result_.program.assign(program, words_.end());
        return std::move(result_);
    }

private:
    Result<void> take_long(const std::string& word) {
        std::size_t equals = word.find('=');
        std::string typed = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        auto found = resolve(word, typed);
        if (!found) return found.error();
        const Option& option = **found;
        bool whole = with_dashes(typed) == option.name;
        std::string shown = "--" + (whole ? typed : std::string(option.name));
        std::optional<std::string> value;
        if (equals != std::string::npos) value = word.substr(equals + 1);
        return add(option, shown, "=", std::move(value));
    }

    /// -r3, -r=3, -r 3. Switches may be joined (-mq), and the last option of a group may take a value (-mr3).
    Result<void> take_short(const std::string& word) {
        if (std::string number = word.substr(std::min<std::size_t>(3, word.size())); is_mpiexecs_np(word)) {
            const bool equals = number.starts_with('=');
            std::optional<std::string> value;
            if (!number.empty()) value = number.substr(equals ? 1 : 0);
            return add(*find_option("np"), "-np", equals ? "=" : " ", std::move(value));
        }
        // mpiexec's -report-bindings is no -r.
        const std::string name = with_dashes(std::string_view(word).substr(1, word.find('=') - 1));
        if (name.size() > 2 && !hint_for_other_launchers(name).empty()) return unknown(word, name);
        for (std::size_t at = 1; at < word.size(); ++at) {
            const Option* option = find_option(word[at]);
            std::string rest = word.substr(at + 1);
            const bool a_name = option && option->name == "np" && !rest.empty() && !is_number_or_value(rest);
            if (!option || a_name) return unknown(word, std::string_view(word).substr(1, word.find('=') - 1));
            std::string shown = {'-', word[at]};
            bool equals = rest.starts_with('=');
            if (option->is_switch() && !equals) {
                result_.options.push_back({option, "1", shown});
                continue;
            }
            if (rest.empty()) return add(*option, shown, " ", std::nullopt);
            return add(*option, shown, equals ? "=" : " ", rest.substr(equals ? 1 : 0));
        }
        return {};
    }

    Result<void> add(const Option& option, const std::string& shown, std::string_view joint,
                     std::optional<std::string> value) {
        if (!value && option.is_switch()) {
            result_.options.push_back({&option, "1", shown});
            return {};
        }
        if (!value) {
            bool there = next_ + 1 < words_.size() && can_be_value(words_[next_ + 1]);
            if (!there)
                return Error{fmt::format("{} without a value, expected {}{}{}", shown, shown, joint, option.value)};
            value = words_[++next_];
        }
        std::string spelling = spelled(shown, joint, *value);
        result_.options.push_back({&option, std::move(*value), std::move(spelling)});
        return {};
    }

    const std::vector<std::string>& words_;
    std::size_t next_ = 0;
    Normalized result_;
};

}  // namespace

Result<Normalized> normalize(const std::vector<std::string>& words) { return Reader(words).read(); }

std::string one_line(std::string_view text) {
    std::string line;
    for (char c : text) {
        auto code = static_cast<unsigned char>(c);
        if (c == '\n')
            line += "\\n";
        else if (c == '\t')
            line += "\\t";
        else if (code < 0x20 || code == 0x7f)
            line += fmt::format("\\x{:02x}", code);
        else
            line += c;
    }
    return line;
}

std::string spelled(const std::string& name, std::string_view joint, const std::string& value) {
    constexpr std::size_t kMost = 200, kEnd = 20;  // enough to recognize the value
    std::string shown =
        value.size() <= kMost ? value : value.substr(0, kMost - kEnd) + "..." + value.substr(value.size() - kEnd);
    return name + std::string(joint) + one_line(shown);
}

}  // namespace dlaunch::launcher
