#include "launcher/cli/suggest.hpp"

#include <algorithm>

#include "launcher/cli/other_launchers.hpp"
#include "launcher/cli/split.hpp"
#include "launcher/cli/table.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

/// Edit distances from `a` to every prefix of `b`: element j belongs to the first j characters.
std::vector<std::size_t> distances_to_beginnings(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = last;
        last.swap(row);
    }
    return last;
}

/// Most edits for two words to count as near.
std::size_t most_slips(std::size_t length) { return std::clamp<std::size_t>(length / 3, 1, 3); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) { return distances_to_beginnings(a, b).back(); }

std::string_view nearest(std::string_view typed, const std::vector<std::string_view>& candidates) {
    constexpr std::size_t kLongestName = 100;  // the cost grows with the square
    if (typed.empty() || typed.size() > kLongestName) return {};
    std::string_view best;
    constexpr std::size_t kShortestBeginning = 4;  // shorter prefixes are near too many names
    const bool may_be_beginning = typed.size() >= kShortestBeginning;
    std::size_t best_score = most_slips(typed.size()) * 2 + 2;
    for (std::string_view candidate : candidates) {
        std::vector<std::size_t> row = distances_to_beginnings(typed, candidate);
        // At an equal distance a whole name is more likely than a prefix.
        std::size_t score = row.back() * 2;
        if (may_be_beginning) score = std::min(score, *std::ranges::min_element(row) * 2 + 1);
        if (score < best_score) {
            best = candidate;
            best_score = score;
        }
    }
    return best;
}

std::string suggestion(std::string_view typed, std::string_view dashes) {
    std::vector<std::string_view> names;
    for (const Option& option : all_options()) names.push_back(option.name);
    const std::string name = with_dashes(typed);
    const std::string_view hint = dashes.empty() ? std::string_view() : hint_for_other_launchers(name);
    if (!hint.empty()) return "; " + std::string(hint);
    const std::string_view best = nearest(name, names);
    return best.empty() ? std::string() : "; did you mean " + std::string(dashes) + std::string(best) + "?";
}

std::string variable_suggestion(std::string_view name) {
    constexpr std::string_view kPrefix = "DLAUNCH_", kNoOption = "DLAUNCH_TOKEN";
    constexpr std::size_t kShortest = 5;  // of two shorter names each is near the other
    if (!name.starts_with(kPrefix) || name == kNoOption || find_variable(name)) return {};
    const std::string typed = with_dashes(base::in_lower_case(name.substr(kPrefix.size())));
    for (const Option& option : all_options()) {
        const bool is_slip = typed.size() >= kShortest && edit_distance(typed, option.name) == 1;
        if (!option.only_on_command_line && (is_slip || option.name.starts_with(typed + "-")))
            return option.variable(kPrefix);
    }
    return {};
}

std::string command_suggestion(std::string_view program) {
    const std::string_view best = program == "help" ? "--help" : nearest(program, split(kCommands, ' '));
    return best.empty() ? std::string() : "; did you mean dlaunch " + std::string(best) + "?";
}

}  // namespace dlaunch::launcher
