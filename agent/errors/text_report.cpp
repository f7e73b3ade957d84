#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "agent/errors/format.hpp"
#include "agent/errors/report.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/text.hpp"
#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {

namespace {

using base::printable;

/// Further errors with a line each; the rest share one line (the JSON report has all of them).
constexpr std::size_t kMostOthers = 4;
constexpr std::size_t kMostErrorColumns = 94;

/// Longer lines of a stderr tail are cut; records never are.
constexpr std::size_t kMostLastWordColumns = 1000;

/// Lines below the first are indented by two columns, the worker's own output by four.
constexpr std::string_view kMargin = "  ";
constexpr std::string_view kQuote = "    ";

template <class... Args>
void line(std::string& out, std::string_view margin, fmt::format_string<Args...> text, Args&&... args) {
    out += margin;
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
    out += '\n';
}

std::string_view without_line_end(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\r\n");
    return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

/// Indents every line of `text`.
void quote(std::string& out, std::string_view margin, std::string_view text) {
    text = without_line_end(text);
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        const std::string shown = printable(without_line_end(text.substr(start, end - start)));
        if (!shown.empty()) out.append(margin).append(shown);
        out += '\n';
        start = end + 1;
    }
}

/// The text that a terminal would finally show: applies '\r' of progress bars, and drops colours.
std::string as_seen(std::string_view text) {
    text = without_line_end(text);
    if (const std::size_t start = text.rfind('\r'); start != std::string_view::npos) text.remove_prefix(start + 1);
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.substr(at).starts_with("\x1b[") ? text.find_first_not_of("0123456789;", at + 2)
                                                                     : std::string_view::npos;
        if (end != std::string_view::npos && (text[end] == 'm' || text[end] == 'K'))
            at = end + 1;
        else
            plain += text[at++];
    }
    return shorten_middle(printable(plain), kMostLastWordColumns);
}

/// Omits a traceback on stderr that the record contains already.
bool says_the_same(const ErrorRecord& record, const std::vector<std::string>& words) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
        return record.callstack.find(without_line_end(word)) != std::string::npos;
    });
}

void add_words(std::string& out, const Failure& failure) {
    if (failure.record) {
        quote(out, kMargin, failure.record->message);
        if (!failure.record->callstack.empty()) {
            line(out, kMargin, "callstack:");
            quote(out, kQuote, failure.record->callstack);
        }
    }
    if (failure.stderr_tail.empty() || (failure.record && says_the_same(*failure.record, failure.stderr_tail))) return;
    const std::string process = failure.of_template() ? "the template" : fmt::format("rank {}", failure.rank);
    line(out, kMargin, "last lines of {} on stderr:", process);
    for (const std::string& word : failure.stderr_tail) {
        const std::string shown = as_seen(word);
        if (!shown.empty()) out.append(kQuote).append(shown);
        out += '\n';
    }
}

void add_files(std::string& out, const Failure& failure, const std::string& log_directory) {
    if (!failure.stderr_file.empty()) line(out, kMargin, "stderr:        {}", printable(failure.stderr_file));
    if (!failure.stdout_file.empty()) line(out, kMargin, "stdout:        {}", printable(failure.stdout_file));
    // Without a log directory the error file is removed with the job.
    if (failure.record && !failure.error_file.empty() && !log_directory.empty())
        line(out, kMargin, "error file:    {}", printable(failure.error_file));
}

void add_circumstances(std::string& out, const Failure& failure) {
    std::string text;
    if (failure.when != std::chrono::system_clock::time_point{}) text = base::utc_text(failure.when) + ", ";
    text += fmt::format("{} into round {}", duration_text(failure.after.count()), failure.round);
    line(out, kMargin, "when:          {}; local rank {}, role {}", text, failure.local_rank, printable(failure.role));
}

void add_memory(std::string& out, const Failure& failure) {
    if (failure.out_of_memory == OutOfMemory::no) return;
    const std::string limit =
        failure.memory_limit.empty() ? "" : fmt::format(" (limit {})", printable(failure.memory_limit));
    if (failure.out_of_memory == OutOfMemory::certain)
        line(out, kMargin, "memory:        killed by the kernel, its cgroup ran out of memory{}", limit);
    else
        line(out, kMargin, "memory:        the kernel killed processes of an enclosing cgroup that ran out of memory{}",
             limit);
}

void add_usage(std::string& out, const Usage& usage) {
    line(out, kMargin, "used:          {} of memory at most, CPU {} (user) + {} (system)",
         size_text(static_cast<double>(usage.max_rss_kib) * 1024), duration_text(usage.user_seconds),
         duration_text(usage.system_seconds));
}

/// Advice for a worker without any output on stderr.
std::string_view advice(const Failure& failure) {
    if (failure.record || !failure.stderr_tail.empty() || failure.out_of_memory != OutOfMemory::no) return {};
    if (failure.how == ExitKind::exited)
        return "its stderr is empty; @record of torch.distributed.elastic.multiprocessing.errors, or\n"
               "dlaunch::record() in C++, around main() shows the exception here";
    if (failure.how != ExitKind::signalled) return {};
    switch (failure.signal) {
        case SIGSEGV:
        case SIGABRT:
        case SIGBUS:
        case SIGFPE:
        case SIGILL:
            return "its stderr is empty; PYTHONFAULTHANDLER=1 (or @record of torch's elastic errors) shows the stack\n"
                   "here, `ulimit -c unlimited` writes a core file";
        case SIGKILL:
            return "dlaunch did not send this SIGKILL; the log of the kernel (dmesg) or of the batch system may name\n"
                   "the sender";
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

std::string ranks_text(const std::vector<int>& ranks) {
    constexpr std::size_t kMostColumns = 75;
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "",
                       shorten_middle(base::number_ranges(ranks, ", "), kMostColumns));
}

void add_ranks(std::string& out, std::string_view what, const std::vector<int>& ranks) {
    if (ranks.empty()) return;
    line(out, kMargin, "{:<15}{}", what, ranks_text(ranks));
}

std::string first_line(const ErrorRecord& record) {
    const std::string_view message = record.message;
    return printable(without_line_end(message.substr(0, message.find('\n'))));
}

/// The error of a failure in one line; the exit if its process gave no message.
std::string short_error(const Failure& failure) {
    if (failure.record) return shorten_middle(first_line(*failure.record), kMostErrorColumns);
    if (!failure.message.empty())
        return shorten_middle(printable(failure.message.substr(0, failure.message.find('\n'))), kMostErrorColumns);
    return "";
}

/// One line per error, with the ranks that failed by it: often all ranks fail in the same way.
void add_others(std::string& out, const Failure& first, const std::vector<const Failure*>& others) {
    if (others.empty()) return;
    std::vector<std::pair<std::string, std::vector<int>>> groups;
    for (const Failure* other : others) {
        const std::string error = exit_text(*other) + [&] {
            const std::string text = short_error(*other);
            return text.empty() ? "" : text == short_error(first) ? ": the same error" : ": " + text;
        }();
        auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& each) { return each.first == error; });
        if (group == groups.end()) group = groups.insert(groups.end(), {error, {}});
        group->second.push_back(other->rank);
    }
    std::vector<int> rest;
    for (std::size_t at = 0; at < groups.size(); ++at) {
        const auto& [error, ranks] = groups[at];
        if (at >= kMostOthers)
            rest.insert(rest.end(), ranks.begin(), ranks.end());
        else
            line(out, kMargin, "{:<15}{} {}", at == 0 ? "also failed:" : "", ranks_text(ranks), error);
    }
    if (!rest.empty()) line(out, kMargin, "{:<15}{} otherwise", "", ranks_text(rest));
}

/// "the job outlived --timeout 30 s; ranks 0-2, 5 were still running"
std::string timeout_line(const JobResult& end, const std::vector<const Failure*>& causes) {
    std::vector<int> running;
    if (end.others) running = end.others->outlived;
    if (running.empty())
        for (const Failure* cause : causes)
            if (cause->how == ExitKind::timed_out) running.push_back(cause->rank);
    if (running.size() == 1) return summary(*causes.front());
    const std::string limit = causes.front()->text.empty() ? "" : " " + printable(causes.front()->text);
    const std::string head = "the job outlived --timeout" + limit + "; ranks ", tail = " were still running";
    return head +
           shorten_middle(base::number_ranges(running, ", "),
                          91 - std::min<std::size_t>(80, head.size() + tail.size())) +
           tail;
}

/// Of Python's faulthandler.
bool has_stack(const Failure& failure) {
    return std::ranges::any_of(failure.stderr_tail, [](const std::string& text) {
        return text.find("(most recent call first)") != std::string::npos;
    });
}

/// Where each rank was at the time limit.
void add_last_lines(std::string& out, const std::vector<const Failure*>& causes) {
    constexpr std::size_t kMostRows = 8;
    const std::string kNoOutput = "no output";
    std::vector<std::pair<std::string, std::vector<int>>> rows;
    for (const Failure* cause : causes) {
        if (cause->how != ExitKind::timed_out) continue;
        const std::string text =
            cause->last_line.empty()
                ? kNoOutput
                : fmt::format("{} ago: {}", duration_text(cause->silent_for.count()), as_seen(cause->last_line));
        auto row = std::ranges::find(rows, text, &std::pair<std::string, std::vector<int>>::first);
        if (row == rows.end()) row = rows.insert(rows.end(), {text, {}});
        row->second.push_back(cause->rank);
    }
    if (rows.empty() || (rows.size() == 1 && rows.front().first == kNoOutput)) return;
    line(out, kMargin, "last line of each rank:");
    for (std::size_t at = 0; at < std::min(rows.size(), kMostRows); ++at)
        line(out, kQuote, "{}, {}", ranks_text(rows[at].second), shorten_middle(rows[at].first, kMostErrorColumns));
    if (rows.size() > kMostRows) line(out, kQuote, "and {} more", rows.size() - kMostRows);
}

void add_job(std::string& out, const JobResult& end, bool is_reason_printed) {
    if (!end.program.empty()) line(out, kMargin, "program:       {}", printable(end.program));
    add_ranks(out, "stopped by us:", stopped_ranks(end));
    add_ranks(out, "ended well:", successful_ranks(end));
    if (!end.reason.empty() && !is_reason_printed) line(out, kMargin, "the job:       {}", printable(end.reason));
    if (end.max_restarts > 0)
        line(out, kMargin, "restarts:      {} of {} were used, the job ran {}", end.restarts, end.max_restarts,
             duration_text(end.seconds));
    if (!end.log_directory.empty()) line(out, kMargin, "all logs:      {}", printable(end.log_directory));
}

}  // namespace

std::string text_report(const JobResult& end, std::string_view printed) {
    std::vector<const Failure*> causes;
    for (const Failure& failure : end.failures)
        if (is_cause(failure)) causes.push_back(&failure);
    if (causes.empty())
        return end.reason.empty() || end.exit_status == 0 ? "" : fmt::format("dlaunch: {}\n", printable(end.reason));
    const Failure& first = *causes.front();
    const bool timed_out = first.how == ExitKind::timed_out;
    const std::string headline = timed_out ? timeout_line(end, causes) : summary(first);
    std::string out = headline == printed ? "" : fmt::format("dlaunch: {}\n", headline);
    const bool is_quoted = first.how == ExitKind::not_executed || first.how == ExitKind::judged;
    if (is_quoted && headline.find(printable(first.text)) == std::string::npos) quote(out, kMargin, first.text);
    if (first.of_template())
        quote(out, kMargin,
              "this process was the template of --start-method=fork: workers are forked from it where it calls\n"
              "dlaunch::fork_point() (with --start-method=spawn each worker runs the program from its start)");
    if (timed_out) add_last_lines(out, causes);
    if (!timed_out || has_stack(first)) add_words(out, first);
    add_memory(out, first);
    if (first.how != ExitKind::not_executed && !timed_out) {
        add_files(out, first, end.log_directory);
        if (first.usage) add_usage(out, *first.usage);
        add_circumstances(out, first);
    }
    std::vector<const Failure*> others;
    std::copy_if(causes.begin() + 1, causes.end(), std::back_inserter(others),
                 [&](const Failure* other) { return !(timed_out && other->how == ExitKind::timed_out); });
    add_others(out, first, others);
    add_job(out, end, timed_out);
    if (const std::string_view text = advice(first); !text.empty()) quote(out, kMargin, text);
    return out;
}

}  // namespace dlaunch::agent
