#include "agent/errors/log_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool has_four_digits(std::string_view text) {
    return text.size() >= 4 && std::all_of(text.begin(), text.begin() + 4, is_digit);
}

std::string without_colours(std::string_view line) {
    std::string made;
    for (std::size_t at = 0; at < line.size(); ++at) {
        const std::size_t end = line.substr(at).starts_with("\x1b[") ? line.find_first_not_of("0123456789;", at + 2)
                                                                     : std::string_view::npos;
        if (end == std::string_view::npos)
            made += line[at];
        else
            at = end;
    }
    return made;
}

/// "12:00:01 - root - INFO - done". Empty: there is none.
std::string_view level_of(std::string_view line) {
    constexpr std::array kLevels = std::to_array<std::string_view>(
        {"TRACE", "DEBUG", "INFO", "NOTICE", "SUCCESS", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"});
    constexpr std::size_t kHead = 80;
    const std::string_view head = line.substr(0, kHead);
    for (std::size_t at = 0; at < head.size();) {
        if (!is_letter(head[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < head.size() && is_letter(head[at])) ++at;
        const std::string_view word = head.substr(begin, at - begin);
        if (std::find(kLevels.begin(), kLevels.end(), word) != kLevels.end()) return word;
    }
    return {};
}

bool is_of_error(std::string_view level) { return level == "ERROR" || level == "FATAL" || level == "CRITICAL"; }

}  // namespace

bool LogLine::is_remark() const {
    const std::string low = base::in_lower_case(text);
    for (const std::string_view begin : {"warning", "info", "debug", "note:", "hint:", "help:", "wandb: "})
        if (low.starts_with(begin)) return true;
    for (const std::string_view part : {"warning:", "[warning]", "[warn]", "[info]", "[debug]", "[trace]", "level=info",
                                        "level=warn", "level=debug", "\"level\":\"info\"", "\"level\":\"warn"})
        if (low.find(part) != std::string::npos) return true;
    // Prose may begin with a letter and hold such a word.
    const std::string_view level = text.empty() || is_letter(text[0]) ? std::string_view() : level_of(text);
    if (!level.empty() && !is_of_error(level)) return true;
    return is_of_glog() && text.find_first_of("WI") <= 1;
}

bool LogLine::is_logged_error() const {
    const std::string_view level = level_of(text);
    return is_of_error(level) || level.starts_with("WARN") || (is_of_glog() && text.find_first_of("WEF") <= 1);
}

bool LogLine::is_of_glog() const {
    const std::string_view line = std::string_view(text).substr(text.starts_with('[') ? 1 : 0);
    return line.size() > 5 && line.find_first_of("IWEF") == 0 && has_four_digits(line.substr(1)) && line[5] == ' ';
}

namespace {

/// A line, in lower case, that a shell, time(1), a runtime or a leak checker prints below a program's last message.
bool is_of_other_programs(std::string_view low) {
    constexpr std::array kBegins = std::to_array<std::string_view>({"real\t",
                                                                    "user\t",
                                                                    "sys\t",
                                                                    "real ",
                                                                    "user ",
                                                                    "sys ",
                                                                    "command exited with ",
                                                                    "exit status ",
                                                                    "stack backtrace:",
                                                                    "stacktrace:",
                                                                    "node.js v",
                                                                    "}",
                                                                    "goroutine ",
                                                                    "direct leak of ",
                                                                    "indirect leak of ",
                                                                    "summary: addresssanitizer: ",
                                                                    "=====",
                                                                    "make: *** ",
                                                                    "make[",
                                                                    "execution halted"});
    return std::any_of(kBegins.begin(), kBegins.end(),
                       [&](std::string_view begin) { return low.starts_with(begin); }) ||
           low.find("leaksanitizer: detected") != std::string::npos ||
           (low.find("user ") != std::string::npos && low.find("elapsed ") != std::string::npos) ||
           (low.find("inputs+") != std::string::npos && low.find("pagefaults") != std::string::npos);
}

}  // namespace

bool LogLine::is_farewell() const {
    constexpr std::array kWords = std::to_array<std::string_view>(
        {"giving up", "shutting down", "cleaning up", "exiting", "terminating", "stopping", "quitting", "aborting"});
    const std::string low = base::in_lower_case(text);
    std::size_t begin = 0;  // behind "main: " and "[rank 2] "
    for (const std::string_view end : {": ", "] "})
        if (const std::size_t at = low.rfind(end); at != std::string::npos) begin = std::max(begin, at + end.size());
    const std::string_view words = std::string_view(low).substr(begin);
    if (is_of_other_programs(low)) return true;
    return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return words.starts_with(word); });
}

bool LogLine::is_logged_as_fatal() const { return text.starts_with('F') && is_of_glog(); }

LogLine plain_line(std::string_view line) {
    LogLine made{without_colours(line)};
    std::string& text = made.text;
    constexpr std::string_view kRank = "[rank";
    const std::size_t digits = text.find_first_not_of("0123456789", kRank.size());
    if (text.starts_with(kRank) && digits != std::string::npos && text.compare(digits, 2, "]:") == 0) {
        text.erase(0, digits + 2);
        if (text.starts_with(' ')) text.erase(0, 1);
    }
    const std::size_t box = text.find_first_not_of(' ');
    if (box != std::string::npos && box > 0 && (text[box] == '|' || text[box] == '+')) {
        made.is_boxed = true;
        const bool is_rule = text.compare(box, 2, "+-") == 0;
        text.erase(0, is_rule ? text.size() : std::min(box + 2, text.size()));
    }
    text.erase(text.find_last_not_of(" \t\r") + 1);
    return made;
}

}  // namespace dlaunch::agent
