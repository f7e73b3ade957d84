#include "agent/errors/last_statement.hpp"

#include <algorithm>
#include <string_view>

#include "agent/errors/peer_loss.hpp"
#include "agent/errors/words.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

bool is_indented(const LogLine& line) { return line.text.starts_with(' ') || line.text.starts_with('\t'); }

bool is_loss(const LogLine& line) { return peer_loss(line.text, kNoRank).has_value(); }

/// "job step failed", "details:": that there was an error, or that more follows, but not which error. A message with a
/// lost peer's exit status is not vague: it states why the peer was lost.
bool is_vague(const LogLine& line) {
    const std::string all = base::in_lower_case(line.text);
    std::string_view low = all;
    if (low.ends_with(':')) return true;
    if (low.ends_with('.')) low.remove_suffix(1);
    if (has_any(low, {"exited with ", "exit status ", "exit code ", "error on line "})) return !is_loss(line);
    return low.find(": ") == std::string_view::npos && (low.ends_with(" failed") || low.ends_with(" error"));
}

bool names_an_error(std::string_view text) {
    const std::string low = base::in_lower_case(text);
    return has_any(low,
                   {"err",  "fail",       "exception", "fatal",    "panic",   "abort", "assert",   "invalid", "not ",
                    "n't ", "unable",     "denied",    "missing",  "no such", "bad ",  "illegal",  "corrupt", "out of ",
                    "kill", "unexpected", "exceed",    "mismatch", "unknown", "wrong", "overflow", " nan"});
}

bool states(const LogLine& line) { return line.states_something() && !is_indented(line); }

/// "lost a peer: connection closed", "ERROR connection closed": it is why the program ends, and no tidying up.
bool says_loss(const LogLine& line) {
    const std::size_t colon = line.text.rfind(": ");
    const bool is_before_colon =
        colon != std::string::npos && peer_loss(std::string_view(line.text).substr(0, colon), kNoRank).has_value();
    return is_loss(line) && (is_before_colon || line.is_logged_error());
}

bool says_what(const LogLine& line) {
    return states(line) && !is_vague(line) && (!is_end_alone(line) || says_loss(line));
}

/// "connection closed" or "rank 2 failed" alone: of a lost peer, or of a program that tidies up after an error of its
/// own.
bool is_loss_or_end(const LogLine& line) {
    return states(line) && (is_end_alone(line) || is_vague(line)) && is_loss(line);
}

/// The line before which the last such line stands; 0: there is none.
std::size_t behind_last(const std::vector<LogLine>& lines, std::size_t end, bool (*is_such)(const LogLine&)) {
    while (end > 0 && !is_such(lines[end - 1])) --end;
    return end;
}

std::size_t behind_statement(const std::vector<LogLine>& lines) {
    const std::size_t said = behind_last(lines, lines.size(), says_what);
    const std::size_t ended = behind_last(lines, lines.size(), is_loss_or_end);
    if (ended > said && (said == 0 || !names_an_error(lines[said - 1].text))) return ended;
    if (said > 0) return said;
    return behind_last(lines, lines.size(), [](const LogLine& line) { return line.states_something(); });
}

/// The causes below a statement as Rust's anyhow prints them: a blank line, "Caused by:", and lines "    0: cause" or
/// "    cause". In its one-line form they stand behind colons.
std::string causes_below(const std::vector<LogLine>& lines, std::size_t next) {
    if (next + 1 >= lines.size() || !lines[next].text.empty() || lines[next + 1].text != "Caused by:") return {};
    std::string causes;
    for (next += 2; next < lines.size() && is_indented(lines[next]); ++next) {
        std::string_view cause = std::string_view(lines[next].text).substr(lines[next].text.find_first_not_of(" \t"));
        const std::size_t number = cause.find_first_not_of("0123456789");
        if (number > 0 && number != std::string_view::npos && cause.substr(number).starts_with(": "))
            cause.remove_prefix(number + 2);
        causes.append(": ").append(cause);
    }
    return causes;
}

}  // namespace

bool is_end_alone(const LogLine& line) {
    constexpr std::ptrdiff_t kMostBlanks = 4;
    const std::string all = base::in_lower_case(line.text);
    std::string_view low = all;
    if (const std::size_t colon = low.rfind(": "); colon != std::string_view::npos) low.remove_prefix(colon + 2);
    return std::count(low.begin(), low.end(), ' ') <= kMostBlanks &&
           has_any(low, {"exiting", "exited", "stopping", "stopped", "closing", "closed", "terminating", "terminated",
                         "quitting", "shutdown", "shut down", "cleaned up", "leaving", "finished", "goodbye"}) &&
           !names_an_error(low) && low.find("no ") == std::string_view::npos;
}

bool is_frame(const LogLine& line) {
    const std::string_view text = line.text;
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == 0 || begin == std::string_view::npos) return false;
    const std::string_view words = text.substr(begin);
    return words.starts_with("at ") || words.starts_with("... ") || words.starts_with("Suppressed: ") ||
           words.starts_with("#") || words.starts_with("[") || words.starts_with("File \"");
}

std::string last_statement(const std::vector<LogLine>& lines) {
    std::size_t next = behind_statement(lines);
    if (next == 0) return {};
    std::string text = lines[next - 1].text;
    for (; next < lines.size() && is_indented(lines[next]); ++next)
        if (!is_frame(lines[next])) text += "\n" + lines[next].text;
    return text + causes_below(lines, next);
}

}  // namespace dlaunch::agent
