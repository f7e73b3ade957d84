#include "agent/errors/error_message.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "agent/errors/last_statement.hpp"
#include "agent/errors/log_line.hpp"
#include "agent/errors/peer_loss.hpp"
#include "agent/errors/words.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

using Lines = std::vector<LogLine>;

constexpr std::string_view kDuring = "During handling of the above exception, another exception occurred:";
constexpr std::string_view kFrom = "The above exception was the direct cause of the following exception:";

bool is_loss(std::string_view message) { return peer_loss(message, kNoRank).has_value(); }

/// The exceptions of sockets that it follows from name no server.
bool is_loss_of_service(std::string_view message) {
    const auto loss = peer_loss(message, kNoRank);
    return loss && loss->of_service;
}

/// Types that programs raise around another error, with or without `from`.
bool wraps(std::string_view exception) {
    constexpr std::array kTypes = std::to_array<std::string_view>({"RuntimeError", "Exception", "OSError"});
    const std::string_view type = exception.substr(0, exception.find_first_of(":\n"));
    return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

/// Begins the exception of a thread, a task or a handler of Python. The main thread's ends the process.
bool begins_aside(const LogLine& line) {
    constexpr std::array kBegins = std::to_array<std::string_view>(
        {"Exception ignored", "Exception in thread ", "--- Logging error ---", "Error in atexit._run_exitfuncs",
         "Task exception was never retrieved", "Future exception was never retrieved", "Exception in callback "});
    return std::ranges::any_of(kBegins, [&](std::string_view begin) { return line.text.starts_with(begin); });
}

bool is_aside(const Lines& lines, std::size_t traceback) {
    constexpr std::size_t kMostAbove = 3;  // "future: <Task finished ...>" and the like
    for (std::size_t at = traceback; at-- > 0 && traceback - at <= kMostAbove && !lines[at].text.empty();)
        if (begins_aside(lines[at])) return true;
    return false;
}

/// From `first` to the next blank line.
std::string paragraph(const Lines& lines, std::size_t first) {
    std::string text;
    for (std::size_t at = first; at < lines.size() && !lines[at].text.empty(); ++at) {
        if (begins_aside(lines[at]) || (at > first && lines[at].text.starts_with(kTraceback))) break;
        if (at > first && (lines[at].is_remark() || is_end_alone(lines[at]) || is_frame(lines[at]))) continue;
        text += (text.empty() ? "" : "\n") + lines[at].text;
    }
    return text;
}

bool is_traceback(const Lines& lines, std::size_t at) {
    if (lines[at].text.find(kTraceback) == std::string::npos) return false;
    return at == 0 || !lines[at - 1].text.starts_with("Exception ignored");
}

std::size_t last_text_before(const Lines& lines, std::size_t at) {
    while (at > 0 && lines[--at].text.empty()) {}
    return at;
}

/// Where the exception below the traceback at `at` begins.
std::size_t end_of_traceback(const Lines& lines, std::size_t at) {
    const auto is_inside = [](const std::string& text) { return text.empty() || text[0] == ' ' || text[0] == '\t'; };
    for (++at; at < lines.size() && is_inside(lines[at].text);) ++at;
    return at;
}

/// The exception below the traceback at `at`, or the one of its chain that counts.
std::string exception_of(const Lines& lines, std::size_t at) {
    std::string counts = paragraph(lines, end_of_traceback(lines, at));
    while (at > 0) {
        std::size_t before = last_text_before(lines, at);
        const std::string_view link = lines[before].text;
        if (link != kDuring && link != kFrom) break;
        const std::size_t end = last_text_before(lines, before);
        while (before > 0 && !is_traceback(lines, before)) --before;
        const bool has_begin = is_traceback(lines, before);  // else the tail begins within it
        std::string earlier = has_begin ? paragraph(lines, end_of_traceback(lines, before)) : lines[end].text;
        const bool is_own = link == kDuring && !wraps(counts) && !is_loss(counts);
        if (is_own && is_loss(earlier))
            counts += std::string(kWhileHandling) + earlier.substr(0, earlier.find('\n'));
        else if (!is_loss_of_service(counts) || !is_loss(earlier))  // which says more than an earlier loss
            counts = std::move(earlier);
        if (!has_begin) break;
        at = before;
    }
    return counts;
}

/// Of the exceptions of a group the last one that is no loss of a peer, else the last one.
std::string exception_of_group(const Lines& lines, std::size_t last) {
    std::string found = exception_of(lines, last);
    for (std::size_t at = last; is_loss(found) && at-- > 0 && lines[at].is_boxed;) {
        if (!is_traceback(lines, at)) continue;
        std::string other = exception_of(lines, at);
        const bool is_group = other.find("ExceptionGroup:") != std::string::npos;
        if (!is_group && !is_loss(other)) found = std::move(other);
    }
    return found;
}

/// Where the chain of exceptions begins that ends with the traceback at `at`.
std::size_t begin_of_chain(const Lines& lines, std::size_t at) {
    while (at > 0) {
        std::size_t before = last_text_before(lines, at);
        if (lines[before].text != kDuring && lines[before].text != kFrom) break;
        while (before > 0 && !is_traceback(lines, before)) --before;
        at = before;
    }
    return at;
}

/// A logged exception that the process survived: its traceback follows a warning of Python's logging, and other lines
/// follow it, or it follows an error of a log, and the loss of a peer follows it.
bool is_survived(const Lines& lines, std::size_t traceback) {
    const std::size_t begin = begin_of_chain(lines, traceback);
    if (begin == 0) return false;
    const LogLine& above = lines[begin - 1];
    const bool is_warning = above.is_remark() && !above.is_of_glog();
    if (!is_warning && !above.is_logged_error()) return false;
    std::size_t at = end_of_traceback(lines, traceback) + 1;  // below the exception
    while (is_warning && at < lines.size() && !lines[at].text.empty() && is_loss(lines[at].text)) ++at;
    return std::any_of(
        lines.begin() + static_cast<std::ptrdiff_t>(std::min(at, lines.size())), lines.end(),
        [is_warning](const LogLine& line) { return is_warning ? line.states_something() : is_loss(line.text); });
}

/// Whether a message begins here that ends its process.
bool is_fatal(const LogLine& line) {
    const std::string& text = line.text;
    return line.is_logged_as_fatal() || text.starts_with("terminate called") || text.starts_with("Fatal error in ") ||
           text.starts_with("panic: ") || text.find("' panicked at ") != std::string::npos ||
           text.starts_with("Abort(") || text.find("watchdog thread terminated with exception") != std::string::npos ||
           text.find("*** An error occurred in") != std::string::npos;
}

/// "error: no more data", "ValueError: x", "fatal: ...", but not "val_error=0.31", "0 errors", "step 4 error: 0.3".
bool announces_error(const std::string& text) {
    const std::string low = base::in_lower_case(text);
    for (const std::string_view word : {"error: ", "exception: ", "fatal: ", "panic: ", "failed: "}) {
        const std::size_t at = low.find(word);
        if (at != std::string::npos && at + word.size() < low.size() &&
            !std::isdigit(static_cast<unsigned char>(low[at + word.size()])))
            return true;
    }
    return false;
}

/// With earlier lines of the same error: C++ names the type of an exception in a line of its own, and Open MPI's
/// transport prints the reason before the call fails.
std::string fatal_message(const Lines& lines, std::size_t at) {
    const std::string& text = lines[at].text;
    const std::string message = paragraph(lines, at);
    std::size_t first = at;
    if (text.starts_with("terminate called")) {
        if (message.find("what():") == std::string::npos && at > 0 && !lines[at - 1].text.empty()) first = at - 1;
    } else if (text.find("*** An error occurred in") != std::string::npos) {
        while (first > 0 && lines[first - 1].text.starts_with('[') && is_loss(lines[first - 1].text)) --first;
    }
    std::string before;
    for (; first < at; ++first) before += lines[first].text + "\n";
    return before + message;
}

/// Without the line of source that Python shows below a warning.
Lines plain_lines(const std::vector<std::string>& tail) {
    Lines lines;
    bool is_below_warning = false;
    for (const std::string& text : tail) {
        LogLine line = plain_line(text);
        const bool is_source = is_below_warning && line.text.starts_with("  ");
        is_below_warning = line.text.find("Warning: ") != std::string::npos && line.is_remark();
        if (!is_source) lines.push_back(std::move(line));
    }
    return lines;
}

/// "CalledProcessError: Command '...' returned non-zero exit status 1.", "RuntimeError: the trainer died with 1": a
/// process reports the exit status of its child. The child's own message stands above.
bool tells_status_of_child(std::string_view exception) {
    std::string_view line = exception.substr(0, exception.find('\n'));
    if (line.ends_with('.')) line.remove_suffix(1);
    const std::string low = base::in_lower_case(line);
    return !low.empty() && std::isdigit(static_cast<unsigned char>(low.back())) &&
           has_any(low, {"exit status", "exit code", "exitcode", "exited with", "died with", "failed with",
                         "ended with", "terminated with", "returned with"});
}

/// Its process has logged it, or goes on after it, or it is a child's `python -c`.
bool may_be_survived(const Lines& lines, std::size_t traceback) {
    const std::size_t begin = begin_of_chain(lines, traceback);
    if (begin > 0 && lines[begin - 1].is_logged_error()) return true;
    if (begin + 1 < lines.size() && lines[begin + 1].text.starts_with("  File \"<string>\"")) return true;
    auto below = lines.begin() + static_cast<std::ptrdiff_t>(end_of_traceback(lines, traceback));
    below = std::find_if(below, lines.end(), [](const LogLine& line) { return line.text.empty(); });
    return std::any_of(below, lines.end(), [](const LogLine& line) { return line.states_something(); });
}

/// The last traceback or fatal message; empty: there is none. An exception aside and one about a child's status count
/// only if no other is above.
StatedError last_fatal(const Lines& lines) {
    StatedError less;
    for (std::size_t at = lines.size(); at-- > 0;) {
        if (is_traceback(lines, at)) {
            const bool aside = is_aside(lines, at);
            StatedError found{lines[at].is_boxed ? exception_of_group(lines, at) : exception_of(lines, at),
                              aside || may_be_survived(lines, at)};
            if (!aside && !tells_status_of_child(found.text)) return found;
            if (less.text.empty()) less = std::move(found);
        } else if (is_fatal(lines[at])) {
            return less.text.empty() || tells_status_of_child(less.text) ? StatedError{fatal_message(lines, at)} : less;
        }
    }
    return less;
}

/// Without the exceptions that the process survived, and the lines of its log above them.
Lines telling_lines(const std::vector<std::string>& tail) {
    Lines lines = plain_lines(tail);
    for (std::size_t at = lines.size(); at-- > 0;) {
        if (!is_traceback(lines, at)) continue;
        const std::size_t end = is_survived(lines, at) ? std::min(end_of_traceback(lines, at) + 1, lines.size()) : 0;
        at = begin_of_chain(lines, at);
        if (end == 0) continue;
        --at;
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return lines;
}

}  // namespace

std::string error_message(const std::vector<std::string>& stderr_tail) {
    const Lines lines = telling_lines(stderr_tail);
    if (std::string text = last_fatal(lines).text; !text.empty()) return text;
    if (std::string text = last_statement(lines); !text.empty()) return text;
    const auto farewell = std::find_if(lines.rbegin(), lines.rend(),
                                       [](const LogLine& line) { return !line.text.empty() && !line.is_remark(); });
    return farewell == lines.rend() ? "" : farewell->text;
}

StatedError stated_error(const std::vector<std::string>& stderr_tail) {
    const Lines lines = telling_lines(stderr_tail);
    if (StatedError fatal = last_fatal(lines); !fatal.text.empty()) return fatal;
    std::string text = last_statement(lines);
    const LogLine line{text};
    const bool is_error = announces_error(text) || (line.is_logged_error() && !line.is_remark());
    return is_error ? StatedError{std::move(text), true} : StatedError();
}

std::string error_on_stdout(const std::vector<std::string>& stdout_tail) {
    const Lines lines = telling_lines(stdout_tail);
    if (std::string text = last_fatal(lines).text; !text.empty()) return text;
    std::string text = last_statement(lines);
    return announces_error(text) || is_loss(text) ? text : "";
}

}  // namespace dlaunch::agent
