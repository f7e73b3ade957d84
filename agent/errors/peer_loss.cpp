#include "agent/errors/peer_loss.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace dlaunch::agent {
namespace {

constexpr std::array kPatterns = std::to_array<PeerLossPattern>({
    {"connection reset by peer", "strerror(ECONNRESET); Gloo, MPICH, UCX, Python"},
    {"connection refused", "strerror(ECONNREFUSED); NCCL's sockets, Python"},
    {"connection timed out", "strerror(ETIMEDOUT)"},
    {"broken pipe", "strerror(EPIPE); Python"},
    {"connection abort", "strerror(ECONNABORTED)"},
    {"transport endpoint is not connected", "strerror(ENOTCONN)"},
    {"cannot send after transport endpoint shutdown", "strerror(ESHUTDOWN)"},
    {"no route to host", "strerror(EHOSTUNREACH)"},
    {"connection closed by", "Gloo, transport/tcp/pair.cc; OpenSSH"},
    {"connection closed", "asio, WebSocket libraries"},
    {"closed by remote host", "OpenSSH"},
    {"closed by peer", "several"},
    {"application timeout caused pair closure", "Gloo, transport/tcp/pair.cc"},
    {"for recv operation to complete", "Gloo, transport/tcp/unbound_buffer.cc"},
    {"for send operation to complete", "Gloo, transport/tcp/unbound_buffer.cc"},
    {"timed out connecting", "Gloo, transport/tcp/pair.cc"},
    {"connectionreseterror", "Python"},
    {"connectionabortederror", "Python"},
    {"connectionrefusederror", "Python"},
    {"brokenpipeerror", "Python"},
    {"incompletereaderror", "Python, asyncio"},
    {"remotedisconnected", "Python, http.client"},
    {"remote process exited or there was a network error", "PyTorch, NCCLUtils.hpp; NCCL, ncclRemoteError"},
    {"ncclremoteerror", "NCCL"},
    {"collective operation timeout", "PyTorch, ProcessGroupNCCL's watchdog"},
    {"connection was likely closed", "PyTorch, TCPStore"},
    {"failed to recv, got 0 bytes", "PyTorch, TCPStore"},
    {"socket timeout", "PyTorch, c10d"},
    {"wait timeout after", "PyTorch, TCPStore"},
    {"(peer_lost)", "dlaunch, worker_lib"},
    {"(aborted)", "dlaunch, worker_lib"},
    {"has left the group", "dlaunch, worker_lib"},
    {"rank # is gone", "dlaunch, worker_lib"},
    {"rank # (pid #) is gone", "dlaunch, worker_lib"},
    {"rank # gave up", "dlaunch, worker_lib"},
    {"rank # died", "several"},
    {"rank # has died", "several"},
    {"rank # failed", "several"},
    {"rank # has failed", "several"},
    {"lost rank #", "several"},
    {"connection to rank #", "several"},
    {"communication error with rank", "MPICH, ch3"},
    {"mpix_err_proc_failed", "MPICH, Open MPI (ULFM)"},
    {"mpi_err_proc_failed", "Open MPI"},
    {"process failure", "Open MPI"},
    {"connection failure", "MPICH, sock"},
    {"peer process has unexpectedly disconnected", "Open MPI, btl/tcp"},
    {"connection to peer", "Open MPI"},
    {"endpoint timeout", "UCX"},
    {"connection reset by remote peer", "UCX"},
    {"destination is unreachable", "UCX"},
    {"socket closed", "gRPC; JAX"},
    {"unavailable: ", "gRPC; JAX"},
    {"failed to connect to all addresses", "gRPC"},
    {"coordination service", "JAX, coordination service agent"},
    {"coordinationservice", "JAX, coordination service agent"},
    {"distributed service detected fatal errors", "JAX"},
    {"heartbeat timeout", "JAX, coordination service"},
    {"end of file [asio", "Boost.Asio"},
});

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string in_lower_case(std::string_view text) {
    std::string made(text);
    std::transform(made.begin(), made.end(), made.begin(), lower);
    return made;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether `text` begins with the pattern.
bool matches_at(std::string_view text, std::string_view pattern) {
    for (; !pattern.empty(); pattern.remove_prefix(1)) {
        if (text.empty()) return false;
        if (pattern.front() != '#') {
            if (text.front() != pattern.front()) return false;
            text.remove_prefix(1);
            continue;
        }
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == 0) return false;
        text.remove_prefix(digits);
    }
    return true;
}

bool contains(std::string_view text, std::string_view pattern) {
    for (std::size_t at = text.find(pattern.front()); at != std::string_view::npos;
         at = text.find(pattern.front(), at + 1))
        if (matches_at(text.substr(at), pattern)) return true;
    return false;
}

/// The line without colours, without "[rank1]: " of torch's excepthook and of its C++ logs, and without blanks at its
/// end.
std::string plain(std::string_view line) {
    std::string made;
    for (std::size_t at = 0; at < line.size(); ++at) {
        const std::size_t end = line.substr(at).starts_with("\x1b[") ? line.find_first_not_of("0123456789;", at + 2)
                                                                     : std::string_view::npos;
        if (end == std::string_view::npos)
            made += line[at];
        else
            at = end;
    }
    const std::size_t bracket = made.find("]:");
    if (made.starts_with("[rank") && bracket != std::string::npos) {
        made.erase(0, bracket + 2);
        if (made.starts_with(' ')) made.erase(0, 1);
    }
    made.erase(made.find_last_not_of(" \t\r") + 1);
    return made;
}

/// Lines of logs below the level of an error: a program that retries says such things and lives.
bool is_remark(std::string_view line) {
    const std::string low = in_lower_case(line);
    if (low.starts_with("warning") || low.starts_with("info") || low.starts_with("debug")) return true;
    if (low.find("warning:") != std::string::npos || low.find("[warning]") != std::string::npos) return true;
    // glog: "W1122 19:15:48.1", also within brackets
    const std::string_view text = line.starts_with('[') ? line.substr(1) : line;
    return text.size() > 5 && (text[0] == 'W' || text[0] == 'I') &&
           std::all_of(text.begin() + 1, text.begin() + 5, is_digit);
}

constexpr std::string_view kTraceback = "Traceback (most recent call last):";

bool links_exceptions(std::string_view line) {
    return line == "During handling of the above exception, another exception occurred:" ||
           line == "The above exception was the direct cause of the following exception:";
}

using Lines = std::vector<std::string>;

/// From `first` to the next blank line.
std::string paragraph(const Lines& lines, std::size_t first) {
    std::string text;
    for (std::size_t at = first; at < lines.size() && !lines[at].empty(); ++at) {
        if (lines[at].starts_with("Exception ignored")) break;
        if (at > first && is_remark(lines[at])) continue;
        text += (text.empty() ? "" : "\n") + lines[at];
    }
    return text;
}

bool is_traceback(const Lines& lines, std::size_t at) {
    if (lines[at].find(kTraceback) == std::string::npos) return false;
    return at == 0 || !lines[at - 1].starts_with("Exception ignored");
}

std::size_t last_text_before(const Lines& lines, std::size_t at) {
    while (at > 0 && lines[--at].empty()) {}
    return at;
}

/// The exception below the traceback at `at`; of chained exceptions the first.
std::string exception_of(const Lines& lines, std::size_t at) {
    while (at > 0) {
        std::size_t before = last_text_before(lines, at);
        if (!links_exceptions(lines[before])) break;
        const std::size_t end = last_text_before(lines, before);
        while (before > 0 && !is_traceback(lines, before)) --before;
        if (!is_traceback(lines, before)) return lines[end];  // the tail begins within the first traceback
        at = before;
    }
    std::size_t first = at + 1;
    while (first < lines.size() && (lines[first].empty() || lines[first][0] == ' ' || lines[first][0] == '\t')) ++first;
    return paragraph(lines, first);
}

/// Whether a message begins here that ends its process.
bool is_fatal(std::string_view line) {
    return line.starts_with("terminate called") || line.starts_with("Fatal error in ") || line.starts_with("Abort(") ||
           line.find("watchdog thread terminated with exception") != std::string_view::npos ||
           line.find("*** An error occurred in") != std::string_view::npos;
}

/// Numbers after "rank " and, of JAX, "task:". Brackets hold the rank of the process itself: "[PG ID 0 Rank 1]".
std::vector<int> ranks_in(std::string_view message, int own_rank) {
    const std::string low = in_lower_case(message);
    std::vector<int> ranks;
    for (const std::string_view word : {std::string_view("rank "), std::string_view("task:")})
        for (std::size_t at = low.find(word); at != std::string::npos; at = low.find(word, at + 1)) {
            if (at > 0 && std::isalpha(static_cast<unsigned char>(low[at - 1]))) continue;
            int rank = -1;
            const char* const end = low.data() + low.size();
            const auto parsed = std::from_chars(low.data() + at + word.size(), end, rank);
            if (parsed.ec != std::errc{} || rank < 0 || rank == own_rank || (parsed.ptr != end && *parsed.ptr == ']'))
                continue;
            if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
        }
    return ranks;
}

}  // namespace

std::span<const PeerLossPattern> peer_loss_patterns() { return kPatterns; }

std::string error_message(const std::vector<std::string>& stderr_tail) {
    Lines lines;
    for (const std::string& line : stderr_tail) lines.push_back(plain(line));
    for (std::size_t at = lines.size(); at-- > 0;) {
        if (is_traceback(lines, at)) return exception_of(lines, at);
        if (!is_fatal(lines[at])) continue;
        const std::string text = paragraph(lines, at);
        const bool needs_more = lines[at].starts_with("terminate called") && text.find("what():") == std::string::npos;
        return needs_more && at > 0 && !lines[at - 1].empty() ? lines[at - 1] + "\n" + text : text;
    }
    for (std::size_t at = lines.size(); at-- > 0;)
        if (!lines[at].empty() && !is_remark(lines[at])) return lines[at];
    return {};
}

std::optional<PeerLoss> peer_loss(std::string_view message, int own_rank) {
    const std::string low = in_lower_case(message);
    const bool found = std::any_of(kPatterns.begin(), kPatterns.end(),
                                   [&](const PeerLossPattern& pattern) { return contains(low, pattern.text); });
    if (!found) return std::nullopt;
    return PeerLoss{ranks_in(message, own_rank)};
}

/// A record of a lost peer does not excuse a rank whose stderr ends with an error of its own.
std::optional<PeerLoss> peer_loss(const Failure& failure) {
    if (failure.how != ExitKind::exited && failure.how != ExitKind::signalled) return std::nullopt;
    if (failure.how == ExitKind::signalled && failure.signal != SIGABRT)
        return failure.signal == SIGPIPE ? std::optional(PeerLoss{}) : std::nullopt;
    const auto on_stderr = peer_loss(failure.message, failure.rank);
    if (!failure.record) return on_stderr;
    const bool has_traceback = std::any_of(failure.stderr_tail.begin(), failure.stderr_tail.end(),
                                           [](const auto& line) { return line.find(kTraceback) != std::string::npos; });
    if (has_traceback && !on_stderr) return std::nullopt;
    auto recorded = peer_loss(failure.record->message, failure.rank);
    return recorded && on_stderr && recorded->ranks.empty() ? on_stderr : recorded;
}

}  // namespace dlaunch::agent
