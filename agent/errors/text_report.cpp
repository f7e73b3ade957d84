#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "agent/errors/error_line.hpp"
#include "agent/errors/format.hpp"
#include "agent/errors/last_frame.hpp"
#include "agent/errors/late_ranks.hpp"
#include "agent/errors/report.hpp"
#include "agent/errors/report_lines.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

using base::printable;

/// All that fits on a small screen below the last lines of the job.
constexpr std::size_t kMostLines = 12;
constexpr std::size_t kLeastWords = 2, kMostMessageLines = 3, kMostStack = 4;

/// Further errors with a line each; the rest share one line (the JSON report has all of them).
constexpr std::size_t kMostOthers = 4;

/// Adds the lines of `text` that are not blank.
void quote(Lines& out, std::string_view margin, std::string_view text) {
    for (const std::string& each : lines_of(text))
        if (each.find_first_not_of(" \t") != std::string::npos) out.push_back(std::string(margin) + printable(each));
}

bool contains(const Lines& lines, std::string_view text) {
    return std::ranges::any_of(lines, [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

/// The innermost frame and the message of the first cause, in at most `most` lines; of an error without either the last
/// lines on stderr, or the message on stdout where there is none on stderr. Empty: the screen has just shown the same.
Lines words_of(const Failure& failure, std::size_t most) {
    Lines message = message_of(failure);
    const std::string first = message.empty() ? "" : message.front();
    const bool is_on_stderr = (message.empty() && !failure.record) || contains(failure.stderr_tail, first);
    if (failure.is_on_screen && is_on_stderr) return {};
    Lines frame;
    if (failure.record) frame = last_frame(lines_of(failure.record->callstack), {});
    if (frame.empty()) frame = last_frame(failure.stderr_tail, first);
    if (!failure.record && frame.empty()) {
        Lines words = last_words(is_on_stderr ? failure.stderr_tail : message);
        if (words.size() > most) words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(most));
        return words;
    }
    const bool is_traceback = !frame.empty();
    if (!is_traceback) frame = stack_of(*failure.record, message);
    const std::size_t most_message = std::min(most, std::max(kMostMessageLines, most - std::min(most, frame.size())));
    if (message.size() > most_message) message.resize(most_message);
    const std::size_t space = most - message.size();
    if (frame.size() > space) frame.resize(space);
    if (!is_traceback) std::swap(frame, message);
    Lines words;
    for (const Lines* part : {&frame, &message})
        for (const std::string& each : *part) words.push_back(printable(each));
    return words;
}

/// The folder of the failed worker's log files, else of the run; a short name where there is a link.
std::string logs_of(const Failure& failure, const JobResult& end) {
    if (!failure.log_folder.empty()) return printable(failure.log_folder) + "/";
    const std::string& file = failure.stderr_file.empty() ? failure.stdout_file : failure.stderr_file;
    const std::string& of_run = end.log_name.empty() ? end.log_directory : end.log_name;
    const std::string folder = file.empty() ? of_run : file.substr(0, file.rfind('/'));
    return folder.empty() ? "" : printable(folder) + "/";
}

void add_memory(Lines& out, const Failure& failure) {
    if (failure.out_of_memory == OutOfMemory::no) return;
    const std::string limit =
        failure.memory_limit.empty() ? "" : fmt::format(" (limit {})", printable(failure.memory_limit));
    if (failure.out_of_memory == OutOfMemory::certain)
        line(out, kMargin, "memory:        killed by the kernel, its cgroup ran out of memory{}", limit);
    else
        line(out, kMargin, "memory:        the kernel killed processes of an enclosing cgroup that ran out of memory{}",
             limit);
}

/// Whether the process ended because its standard input was empty: Python's input(), and pdb at a breakpoint().
bool misses_input(const Failure& failure) {
    return failure.message.starts_with("EOFError: EOF when reading a line") ||
           failure.message.find("bdb.BdbQuit") != std::string::npos;
}

/// Advice for a worker that wanted to read, or that has left no output on stderr.
std::string advice(const Failure& failure, const JobResult& end) {
    if (end.lacks_input && misses_input(failure)) {
        const bool also_others = std::count_if(end.failures.begin(), end.failures.end(), misses_input) > 1;
        return fmt::format("standard input is empty: --stdin={} connects it to rank {}{}", failure.rank, failure.rank,
                           also_others ? ", --stdin=all to all" : "");
    }
    if (failure.record || !failure.stderr_tail.empty() || failure.out_of_memory != OutOfMemory::no) return {};
    if (failure.how == ExitKind::signalled && failure.signal == SIGKILL)
        return "dlaunch did not send this SIGKILL; the kernel's log (dmesg) may name the sender";
    if (failure.is_on_screen) return {};  // its terminal shows its stderr
    if (failure.how == ExitKind::exited && failure.code != 0 && end.is_python && failure.message.empty())
        return "stderr is empty: @record of torch's elastic errors shows the exception here";
    if (failure.how != ExitKind::signalled) return {};
    switch (failure.signal) {
        case SIGSEGV:
        case SIGABRT:
        case SIGBUS:
        case SIGFPE:
        case SIGILL:
            return end.is_python ? "stderr is empty: PYTHONFAULTHANDLER=1 shows the stack here"
                                 : "stderr is empty: `ulimit -c unlimited` before dlaunch leaves a core file";
        default: return {};
    }
}

bool is_cause(const Failure& failure) { return !failure.collateral; }

bool is_listed(const JobResult& end, int rank) {
    return std::any_of(end.failures.begin(), end.failures.end(),
                       [rank](const Failure& failure) { return failure.rank == rank; });
}

/// Without the ranks that the report describes otherwise.
std::vector<int> not_described(const JobResult& end, std::vector<int> ranks) {
    std::erase_if(ranks, [&](int rank) {
        return std::any_of(end.failures.begin(), end.failures.end(),
                           [rank](const Failure& failure) { return failure.rank == rank && is_cause(failure); });
    });
    return ranks;
}

/// Ranks of the last round that failed because the agent stopped them.
std::vector<int> stopped_ranks(const JobResult& end) {
    if (end.others) return not_described(end, end.others->stopped);
    std::vector<int> ranks;
    for (const Failure& failure : end.failures)
        if (failure.collateral) ranks.push_back(failure.rank);
    for (const WorkerResult& worker : end.workers)
        if (worker.exit_status != 0 && !is_listed(end, worker.rank)) ranks.push_back(worker.rank);
    return ranks;
}

std::vector<int> successful_ranks(const JobResult& end) {
    if (end.others) return not_described(end, end.others->finished);
    std::vector<int> ranks;
    for (const WorkerResult& worker : end.workers)
        if (worker.exit_status == 0 && !is_listed(end, worker.rank)) ranks.push_back(worker.rank);
    return ranks;
}

void add_ranks(Lines& out, std::string_view what, const std::vector<int>& ranks) {
    if (!ranks.empty()) line(out, kMargin, "{:<15}{}", what, ranks_text(ranks));
}

bool names_a_rank(std::string_view text) {
    for (std::size_t at = text.find("rank"); at != std::string_view::npos; at = text.find("rank", at + 1))
        if (const std::size_t next = text.find_first_not_of("s ", at + 4);
            next != std::string_view::npos && text[next] >= '0' && text[next] <= '9')
            return true;
    return false;
}

/// "were killed by SIGSEGV", "exited with 0 while their peers needed it"
std::string in_plural(std::string exit) {
    if (exit.starts_with("was ")) exit.replace(0, 3, "were");
    constexpr std::string_view kIts = " its peers";
    if (const std::size_t at = exit.find(kIts); at != std::string::npos) exit.replace(at, kIts.size(), " their peers");
    return exit;
}

/// One line per error, with the ranks that failed by it: often all ranks fail in the same way. A message that names
/// ranks has a line of its own, apart from the list of failed ranks.
void add_others(Lines& out, const Failure& first, const std::vector<const Failure*>& others, std::size_t most) {
    struct Group {
        std::string exit, error;
        bool names_a_rank = false;
        std::vector<int> ranks;
    };
    std::vector<Group> groups;
    for (const Failure* other : others) {
        const std::string exit = exit_text(*other), error = error_line(*other);
        auto group =
            std::ranges::find_if(groups, [&](const Group& each) { return each.exit == exit && each.error == error; });
        if (group == groups.end())
            group = groups.insert(groups.end(), {exit, error, names_a_rank(error_text(*other)), {}});
        group->ranks.push_back(other->rank);
    }
    std::vector<int> rest;
    for (std::size_t at = 0; at < groups.size(); ++at) {
        const auto& [exit, error, has_a_rank, ranks] = groups[at];
        if (at >= most) {
            rest.insert(rest.end(), ranks.begin(), ranks.end());
            continue;
        }
        const bool is_same = !error.empty() && error == error_line(first);
        const bool has_own_line = !is_same && has_a_rank;
        line(out, kMargin, "{:<15}{} {}{}", "also failed:", ranks_text(ranks),
             ranks.size() > 1 ? in_plural(exit) : exit,
             is_same                         ? ": the same error"
             : error.empty() || has_own_line ? ""
                                             : ": " + error);
        if (has_own_line) line(out, kQuote, "\"{}\"", error);
    }
    if (!rest.empty()) line(out, kMargin, "{:<15}{} otherwise", "also failed:", ranks_text(rest));
}

/// "the job outlived --timeout 30 s; ranks 0-2, 5 were still running"
std::string timeout_line(const JobResult& end, const std::vector<const Failure*>& causes, std::size_t columns) {
    std::vector<int> running;
    if (end.others) running = end.others->outlived;
    if (running.empty())
        for (const Failure* cause : causes)
            if (cause->how == ExitKind::timed_out) running.push_back(cause->rank);
    if (running.size() == 1) return summary(*causes.front(), columns);
    const std::string limit = causes.front()->text.empty() ? "" : " " + printable(causes.front()->text);
    const std::string head = "the job outlived --timeout" + limit + "; ranks ", tail = " were still running";
    return head +
           shorten_middle(base::number_ranges(running, ", "),
                          columns - std::min(columns - 3, 9 + head.size() + tail.size())) +
           tail;
}

/// In two lines where one is wider than `width`; 0: there is no width.
void add_logs(Lines& out, const std::string& folder, std::size_t width) {
    constexpr std::string_view kTitle = "logs:          ";
    const std::size_t attempt = folder.rfind("/attempt_");
    const bool fits = width == 0 || kMargin.size() + kTitle.size() + folder.size() <= width;
    if (folder.empty()) return;
    if (fits || attempt == std::string::npos) return line(out, kMargin, "{}{}", kTitle, folder);
    line(out, kMargin, "{}{}", kTitle, folder.substr(0, attempt + 1));
    line(out, kMargin, "{:{}}{}", "", kTitle.size(), folder.substr(attempt + 1));
}

/// The lines below the message of the first cause.
Lines facts(const JobResult& end, const std::vector<const Failure*>& causes, bool timed_out, std::size_t most_others,
            std::size_t width) {
    const Failure& first = *causes.front();
    Lines out;
    // The reason why a program could not be executed names it.
    if (!end.program.empty() && first.text.find(end.program) == std::string::npos)
        line(out, kMargin, "program:       {}", printable(end.program));
    if (first.role != Failure().role) line(out, kMargin, "role:          {}", printable(first.role));
    add_memory(out, first);
    std::vector<const Failure*> others;
    std::copy_if(causes.begin() + 1, causes.end(), std::back_inserter(others),
                 [&](const Failure* other) { return !(timed_out && other->how == ExitKind::timed_out); });
    add_others(out, first, others, most_others);
    add_ranks(out, "stopped by us:", stopped_ranks(end));
    add_ranks(out, "ended well:", successful_ranks(end));
    if (!end.reason.empty() && !timed_out) line(out, kMargin, "the job:       {}", printable(end.reason));
    if (end.max_restarts > 0)
        line(out, kMargin, "restarts:      {} of {} were used, the job ran {}", end.restarts, end.max_restarts,
             duration_text(end.seconds));
    add_logs(out, logs_of(first, end), width);
    if (first.how != ExitKind::not_executed) line(out, kMargin, "exit status:   {}", end.exit_status);
    if (const std::string text = advice(first, end); !text.empty()) out.push_back(std::string(kMargin) + text);
    return out;
}

}  // namespace

std::string text_report(const JobResult& end, std::string_view printed, const ReportStyle& style) {
    std::vector<const Failure*> causes;
    for (const Failure& failure : end.failures)
        if (is_cause(failure)) causes.push_back(&failure);
    if (causes.empty())
        return end.reason.empty() || end.exit_status == 0 ? "" : fmt::format("dlaunch: {}\n", printable(end.reason));
    const Failure& first = *causes.front();
    const bool timed_out = first.how == ExitKind::timed_out;
    const std::size_t width = std::clamp<std::size_t>(style.columns > 0 ? style.columns - 1 : 100, 20, 100);
    const std::string headline = timed_out ? timeout_line(end, causes, width) : summary(first, width);
    Lines above;
    const bool is_quoted = first.how == ExitKind::not_executed || first.how == ExitKind::judged;
    if (is_quoted && headline.find(printable(first.text)) == std::string::npos) quote(above, kMargin, first.text);
    if (first.of_template())
        quote(above, kMargin,
              "this process was the template of --start-method=fork, from which workers are forked\n"
              "(with --start-method=spawn each worker runs the program from its start)");
    const std::size_t most_columns = style.columns > 0 ? width : 0;
    Lines below;
    for (std::size_t others = kMostOthers; others > 0; --others) {
        below = facts(end, causes, timed_out, others, most_columns);
        if (1 + above.size() + below.size() + kLeastWords <= kMostLines) break;
    }
    const std::size_t space = kMostLines - std::min(kMostLines - 1, 1 + above.size() + below.size());
    Lines words = late_stack(causes, std::min(space, kMostStack));
    if (words.empty() && !timed_out) words = words_of(first, is_late(first) ? std::min(space, kMostStack) : space);
    std::vector<const Failure*> all;
    for (const Failure& failure : end.failures) all.push_back(&failure);
    const Lines rows = is_late(first) ? last_lines(all, space - words.size()) : Lines();
    std::string out;
    const auto fitted = [&](std::string_view margin, const std::string& text) {
        const std::string whole = std::string(margin) + text;
        return style.columns > 0 ? shorten_middle(whole, width) : whole;
    };
    if (headline != printed)
        out = fmt::format("{}{}{}\n", style.highlight ? "\x1b[1;31m" : "", fitted("dlaunch: ", headline),
                          style.highlight ? "\x1b[0m" : "");
    const auto add = [&](std::string_view margin, const std::string& text) { out += fitted(margin, text) + "\n"; };
    for (const std::string& each : above) add("", each);
    for (const std::string& each : rows) add(kMargin, each);
    for (const std::string& each : words) add(kQuote, each);
    for (const std::string& each : below) add("", each);
    return out;
}

}  // namespace dlaunch::agent
