#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/errors/format.hpp"
#include "agent/errors/report.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {

namespace {

using base::printable;

constexpr std::size_t kName = std::string_view("dlaunch: ").size();
constexpr std::size_t kMostColumns = 100;

/// The text of an exec error or a hang needs so many columns to be useful; the host name is shortened first.
constexpr std::size_t kLeastText = 40;

/// For "before its fork point".
constexpr std::size_t kMostWhere = 24;

/// Parts that may be left out, and the least columns of the host name; tried in order until the line fits.
struct Brevity {
    bool limit, after, round, where;
    std::size_t least_host;
};
constexpr std::array<Brevity, 6> kBrevities{{{true, true, true, true, 255},
                                             {false, true, true, true, 255},
                                             {false, true, true, true, 20},
                                             {false, false, true, true, 20},
                                             {false, false, true, true, 8},
                                             {false, false, false, false, 3}}};

std::string out_of_memory(const Failure& failure, bool with_limit) {
    if (failure.out_of_memory == OutOfMemory::no) return {};
    std::string text = failure.out_of_memory == OutOfMemory::certain ? ", out of memory" : ", likely out of memory";
    if (with_limit && !failure.memory_limit.empty()) text += " at " + printable(failure.memory_limit);
    return text;
}

/// "was killed by SIGSEGV, core dumped"
std::string exit_clause(const Failure& failure, bool with_limit) {
    const std::string memory = out_of_memory(failure, with_limit);
    switch (failure.how) {
        case ExitKind::exited:
            if (failure.code == 0) return "exited with 0 while its peers needed it";
            return fmt::format("exited with {}{}", failure.code, memory);
        case ExitKind::signalled:
            return fmt::format("was killed by {}{}{}", base::signal_name(failure.signal),
                               failure.core_dumped ? ", core dumped" : "", memory);
        case ExitKind::timed_out: return "was still running when the job outlived --timeout";
        case ExitKind::hung: return "hung";
        case ExitKind::stopped:
            return failure.message.empty() ? "was named as lost by its peers" : "had shown its error and was stopped";
        case ExitKind::judged: return "";
        case ExitKind::not_executed: break;
    }
    return "could not be executed";
}

std::string time_clause(const Failure& failure, const Brevity& brevity) {
    std::string text;
    if (failure.of_template() && brevity.where) text = " " + shorten_middle(printable(failure.text), kMostWhere);
    if (failure.round > 0 && brevity.round) text += fmt::format(" in round {}", failure.round);
    if (brevity.after) text += " after " + duration_text(failure.after.count());
    return text;
}

/// The parts of the line after host and pid, before and after the failure's own text.
struct Tail {
    std::string before_text, after_text;
    [[nodiscard]] std::size_t width() const { return columns(before_text) + columns(after_text); }
};

Tail tail(const Failure& failure, const Brevity& brevity) {
    std::string how = " " + exit_clause(failure, brevity.limit);
    const bool has_text = !failure.text.empty();
    if (failure.how == ExitKind::not_executed) return {how + (has_text ? ": " : ""), ""};
    if (failure.how == ExitKind::timed_out) return {how + (has_text ? " " : ""), ""};
    if (failure.how == ExitKind::hung && has_text) return {how + " (", ")" + time_clause(failure, brevity)};
    const bool never_ran = failure.how == ExitKind::judged && failure.pid == 0;
    const Brevity without_time{brevity.limit, false, brevity.round, brevity.where, brevity.least_host};
    const std::string when = time_clause(failure, never_ran ? without_time : brevity);
    if (failure.how == ExitKind::judged) return {how, when};
    // A clause after the verb needs a second comma: "..., core dumped, in round 2".
    const bool clause = how.find(',') != std::string::npos && !when.empty();
    return {how + (clause ? "," : "") + when, ""};
}

/// "./prog (no binary for this machine): Exec format error": without " (...)". A path may have brackets, too: more of
/// it follows them.
void drop_brackets(std::string& text) {
    const std::size_t begin = text.rfind(" ("), end = text.find(')', std::min(begin, text.size()));
    if (end == std::string::npos) return;
    if (end + 1 == text.size() || text[end + 1] == ':' || text[end + 1] == ';') text.erase(begin, end + 1 - begin);
}

/// The advice is behind the reason, which is behind the last colon.
void drop_advice(std::string& text) {
    const std::size_t at = text.rfind("; "), reason = text.rfind(": ");
    if (at != std::string::npos && reason != std::string::npos && at > reason) text.resize(at);
}

/// "/opt/mpi/lib/libpmix.so.2: file too short" as ".../lib/libpmix.so.2: file too short", if that fits.
void cut_folder(std::string& text, std::size_t room) {
    const std::size_t path = text.starts_with('/') ? 0 : text.find(" /") + 1;
    const std::size_t end = std::min(text.find(' ', path), text.size());
    for (std::size_t slash = text.find('/', path + 1); slash < end; slash = text.find('/', slash + 1)) {
        const std::string shorter = text.substr(0, path) + "..." + text.substr(slash);
        if (columns(shorter) > room) continue;
        text = shorter;
        return;
    }
}

/// The text, without its part in brackets, its advice behind "; " and the folder of a path if it does not fit; the
/// report quotes all below.
std::string fitting(std::string text, std::size_t room) {
    if (columns(text) > room) drop_brackets(text);
    if (columns(text) > room) drop_advice(text);
    if (columns(text) > room) cut_folder(text, room);
    return text;
}

bool shows_text(const Failure& failure) {
    return failure.how != ExitKind::exited && failure.how != ExitKind::signalled && failure.how != ExitKind::stopped;
}

}  // namespace

std::string exit_text(const Failure& failure) {
    const std::string clause = exit_clause(failure, false);
    if (!shows_text(failure)) return clause;
    return clause.empty() ? printable(failure.text) : fmt::format("{} ({})", clause, printable(failure.text));
}

std::string summary(const Failure& failure, std::size_t columns_of_all) {
    const std::size_t most = std::max(std::min(columns_of_all, kMostColumns), 2 * kName) - kName;
    std::string rank = fmt::format("rank {}", failure.rank);
    const std::string host = printable(failure.host);
    const std::string pid = failure.pid > 0 ? fmt::format("pid {}", failure.pid) : "";
    const std::string text = shows_text(failure) ? printable(failure.text) : "";
    const std::size_t wanted_text = std::min(columns(text), kLeastText);
    const std::string_view comma = host.empty() || pid.empty() ? "" : ", ";
    const std::size_t brackets = host.empty() && pid.empty() ? 0 : 3;
    for (const Brevity& brevity : kBrevities) {
        const Tail end = tail(failure, brevity);
        const std::size_t fixed = rank.size() + brackets + comma.size() + pid.size() + end.width();
        const std::size_t least = fixed + std::min(columns(host), brevity.least_host) + wanted_text;
        if (least > most && &brevity != &kBrevities.back()) continue;
        // Columns go first to the useful part of the text, then to the host, then to the rest of the text.
        const std::size_t room = most - std::min(most, fixed);
        const std::string shown_host = shorten_middle(host, room - std::min(room, wanted_text));
        const std::size_t text_room = room - std::min(room, columns(shown_host));
        const std::string shown_text = shorten_middle(fitting(text, text_room), text_room);
        const std::string process = brackets > 0 ? fmt::format(" ({}{}{})", shown_host, comma, pid) : "";
        return fmt::format("{}{}{}{}{}", rank, process, end.before_text, shown_text, end.after_text);
    }
    return rank;
}

}  // namespace dlaunch::agent
