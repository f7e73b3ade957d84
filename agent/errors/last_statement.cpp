#include "agent/errors/last_statement.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "agent/errors/peer_loss.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_indented(const LogLine& line) { return line.text.starts_with(' ') || line.text.starts_with('\t'); }

/// "job step failed", "details:": that there was an error, or that more follows, but not which error.
bool is_vague(std::string_view low) {
    if (low.ends_with(':')) return true;
    if (low.ends_with('.')) low.remove_suffix(1);
    return low.find(": ") == std::string_view::npos && (low.ends_with(" failed") || low.ends_with(" error"));
}

/// "worker exiting", "main: training stopped.": few words, which name no error.
bool is_end_alone(std::string_view low) {
    constexpr std::ptrdiff_t kMostBlanks = 3;
    if (const std::size_t colon = low.rfind(": "); colon != std::string_view::npos) low.remove_prefix(colon + 2);
    return std::count(low.begin(), low.end(), ' ') <= kMostBlanks &&
           has_any(low, {"exiting", "exited", "stopping", "stopped", "closing", "closed", "terminating", "terminated",
                         "quitting", "shutdown", "shut down", "cleaned up", "leaving", "finished", "goodbye"}) &&
           !has_any(low, {"err", "fail", "exception", "fatal", "abort", "assert", "invalid", "not ", "n't ", "unable",
                          "denied", "missing", "no ", "bad ", "corrupt", "out of ", "kill", "unexpected", " nan"});
}

bool says_what(const LogLine& line) {
    if (!line.states_something()) return false;
    const std::string low = base::in_lower_case(line.text);
    return (!is_vague(low) && !is_end_alone(low)) || peer_loss(line.text, kNoRank).has_value();
}

}  // namespace

std::string last_statement(const std::vector<LogLine>& lines) {
    const auto last = [&](auto counts) {
        return static_cast<std::size_t>(lines.rend() - std::find_if(lines.rbegin(), lines.rend(), counts));
    };
    std::size_t next = last([](const LogLine& line) { return says_what(line) && !is_indented(line); });
    if (next == 0) next = last([](const LogLine& line) { return line.states_something(); });
    if (next == 0) return {};
    std::string text = lines[next - 1].text;
    for (; next < lines.size() && is_indented(lines[next]); ++next) text += "\n" + lines[next].text;
    return text;
}

}  // namespace dlaunch::agent
