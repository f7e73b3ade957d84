#include "agent/errors/peer_loss.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "agent/errors/error_message.hpp"
#include "agent/errors/hosts_in.hpp"
#include "agent/errors/last_frame.hpp"
#include "agent/errors/words.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

bool has_capital(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

/// Whether `text` begins with the pattern.
bool matches_at(std::string_view text, std::string_view pattern, const std::string& own_rank) {
    for (; !pattern.empty(); pattern.remove_prefix(1)) {
        if (text.empty()) return false;
        if (pattern.front() != '#' && pattern.front() != '%') {
            if (text.front() != pattern.front()) return false;
            text.remove_prefix(1);
            continue;
        }
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == 0 || (pattern.front() == '%' && text.substr(0, digits) == own_rank)) return false;
        text.remove_prefix(digits);
    }
    return true;
}

bool contains(std::string_view text, std::string_view pattern, const std::string& own_rank) {
    for (std::size_t at = text.find(pattern.front()); at != std::string_view::npos;
         at = text.find(pattern.front(), at + 1)) {
        const bool is_count = at >= 2 && text[at - 1] == ' ' && text[at - 2] == '0';  // "0 connection resets"
        if (!is_count && matches_at(text.substr(at), pattern, own_rank)) return true;
    }
    return false;
}

/// The lines as one, where a box of a terminal's width has wrapped them.
std::string unwrapped(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const char next = c == '\n' ? ' ' : c;
        if (next != ' ' || !line.ends_with(' ')) line += next;
    }
    return line;
}

/// The rank whose call differs: "mismatch in group world: as call #5 rank 0 called ..., rank 2 called ..."
/// (worker_lib). None: the message is of something else.
std::optional<int> rank_of_other_call(std::string_view message) {
    constexpr std::string_view kRank = ", rank ";
    const std::size_t begin = message.find("mismatch in group "), end = message.rfind(" called ");
    const std::size_t at = message.rfind(kRank, end);
    if (begin == std::string_view::npos || end == std::string_view::npos || at == std::string_view::npos || at < begin)
        return std::nullopt;
    int rank = -1;
    const auto parsed = std::from_chars(message.data() + at + kRank.size(), message.data() + end, rank);
    return parsed.ptr == message.data() + end ? std::optional(rank) : std::nullopt;
}

/// "EOF" and "read: EOF", as Go prints them, alone.
bool is_end_of_file(std::string_view low) { return low == "eof\n" || low.ends_with(": eof\n"); }

/// "local rank 1" and "local_rank 1" are no ranks of the job.
bool is_of_part(std::string_view low, std::size_t at) {
    const std::string_view before = low.substr(0, at);
    return before.ends_with('_') || before.ends_with("local ") || before.ends_with("node ") ||
           before.ends_with("group ");
}

/// Numbers after "rank " and, of JAX, "task:". Brackets hold the rank of the process itself: "[PG ID 0 Rank 1]".
std::vector<int> ranks_in(std::string_view message, int own_rank) {
    const std::string low = base::in_lower_case(message);
    std::vector<int> ranks;
    const auto add = [&](int rank) {
        if (rank >= 0 && rank != own_rank && std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
            ranks.push_back(rank);
    };
    for (const std::string_view word :
         {std::string_view("rank "), std::string_view("ranks "), std::string_view("task:")})
        for (std::size_t at = low.find(word); at != std::string::npos; at = low.find(word, at + 1)) {
            if (at > 0 && (std::isalpha(static_cast<unsigned char>(low[at - 1])) || is_of_part(low, at))) continue;
            std::string_view rest = std::string_view(low).substr(at + word.size());
            for (bool more = true; more;) {  // "ranks 2, 3 and 5"
                int rank = -1;
                const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
                if (parsed.ec != std::errc{}) break;
                rest.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest.data()));
                if (!rest.starts_with(']')) add(rank);
                const std::size_t joint = rest.starts_with(", ") ? 2 : rest.starts_with(" and ") ? 5 : 0;
                more = joint > 0 && word == "ranks ";
                rest.remove_prefix(joint);
            }
        }
    return ranks;
}

/// Python's OSError with a file name, as text or bytes: "[Errno 107] Transport endpoint is not connected: '/mnt/x'".
bool has_errno_of_file(std::string_view low) {
    const std::size_t number = low.find("[errno ");
    if (number == std::string_view::npos) return false;
    const std::size_t name = std::min(low.find(": '", number), low.find(": b'", number));
    return name != std::string_view::npos && low.substr(number, name - number).find('\n') == std::string_view::npos;
}

/// About an unexpected end of a file or document, not of a connection.
bool is_about_format(std::string_view low) {
    return has_any(low, {"corrupt", "pars", "footer", "more bytes", "reading file", "in flow", "in block", "zip",
                         "json", "truncated", "archive", "checkpoint", "file in", "looking for matching",
                         "reading record", "reading shard"}) &&
           !has_any(low, {"read tcp", "write tcp"});
}

/// "unexpected eof" and the like: of a file or of a connection.
bool is_of_an_end(const PeerLossPattern& pattern) { return has_any(pattern.text, {"eof", "end of file"}); }

/// An error of a file, whose name may look like a lost peer. A message about a peer's error names the rank.
bool is_about_files(std::string_view low) {
    if (has_errno_of_file(low)) return true;
    if (low.find("rank") != std::string_view::npos) return false;
    return has_any(low, {"no such file or directory", "could not open", "cannot open"});
}

bool begins_with_type(std::string_view low, std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), low.substr(0, low.find_first_of(":\n"))) != types.end();
}

/// A Python exception of a type that communication never raises, whatever its message is.
bool is_about_code(std::string_view low) {
    return begins_with_type(low, {"keyerror", "indexerror", "typeerror", "attributeerror", "zerodivisionerror",
                                  "floatingpointerror", "overflowerror", "arithmeticerror", "notimplementederror"});
}

/// An exception that programs raise about their own values and conditions; its message may name any rank.
bool is_about_values(std::string_view low) { return begins_with_type(low, {"valueerror", "assertionerror"}); }

/// "rank 3 failed: ...", which may be about any failure and about a rank that is no process.
bool is_of_any_rank(const PeerLossPattern& pattern) {
    return pattern.text.starts_with("rank %") && pattern.source == "several";
}

/// In the words of a library by which ranks communicate.
bool is_of_library(std::string_view low) {
    return has_any(low, {"gloo",          "nccl",
                         "c10d",          "tcpstore",
                         "client socket", "torch.distributed",
                         "tensorpipe",    "mpi_",
                         "mpich",         "mpid",
                         "mpir",          "open mpi",
                         " mpi ",         "ofi ",
                         "ucx",           "coordination",
                         "horovod",       "jax",
                         " in group ",    "(peer_lost)",
                         "(aborted)",     "has left the group"});
}

/// A lost peer's connections are closed or reset.
bool is_refusal(std::string_view low) {
    return has_any(low, {"connection refused", "connectionrefusederror", "econnrefused"});
}

/// Of requests, urllib, botocore, psycopg2, redis and others.
bool is_of_service(std::string_view low) {
    return has_any(low, {"http://",
                         "https://",
                         "httpconnectionpool",
                         "httpsconnectionpool",
                         "urlopen error",
                         "max retries exceeded",
                         "remotedisconnected",
                         "connection broken: ",
                         "endpoint url",
                         "connection to server at",
                         "could not connect to server",
                         "server closed the connection",
                         "error 111 connecting to ",
                         "connecting to localhost:",
                         "serverselectiontimeouterror",
                         "lost connection to mysql",
                         "mysql server has gone away",
                         "requests.exceptions",
                         "urllib3.exceptions",
                         "http.client.",
                         "httpx.",
                         "httpcore.",
                         "aiohttp.",
                         "redis.exceptions",
                         "pymongo.errors",
                         "psycopg",
                         "sqlalchemy",
                         "asyncpg",
                         "botocore"});
}

/// Whether the statement of Python that failed receives from a connection: what it got may be the end of a stream.
bool fails_to_use_what_it_receives(const Failure& failure) {
    const std::string_view message = failure.message;
    const auto frame = last_frame(failure.stderr_tail, message.substr(0, message.find('\n')));
    return std::ranges::any_of(frame, [](const std::string& line) {
        return has_any(line, {".recv(", ".recv_into(", ".recvfrom(", ".recv_bytes(", ".readline("});
    });
}

}  // namespace

std::optional<PeerLoss> peer_loss(std::string_view message, int own_rank) {
    if (const auto rank = rank_of_other_call(message))
        return PeerLoss{.ranks = *rank == own_rank ? std::vector<int>() : std::vector{*rank}};
    if (const std::size_t at = message.find(kWhileHandling); at != std::string_view::npos) {
        auto handled = peer_loss(message.substr(at + kWhileHandling.size()), own_rank);
        if (handled) handled->suspect = handled->outside;
        return handled;
    }
    const std::string lines = std::string(message) + "\n", low = base::in_lower_case(lines), whole = unwrapped(low);
    const std::string own = std::to_string(own_rank);
    const bool of_values = is_about_values(low), of_format = is_about_format(low);
    const bool found = std::ranges::any_of(peer_loss_patterns(), [&](const PeerLossPattern& pattern) {
        if ((of_values && is_of_any_rank(pattern)) || (of_format && is_of_an_end(pattern))) return false;
        return contains(has_capital(pattern.text) ? lines : low, pattern.text, own) ||
               contains(whole, pattern.text, own);
    });
    const bool is_doubtful = !found && std::ranges::any_of(doubtful_patterns(), [&](const PeerLossPattern& pattern) {
        return contains(low, pattern.text, own);
    });
    if (!found && !is_doubtful && !is_end_of_file(low)) return std::nullopt;
    if (is_about_files(low) || (is_about_code(low) && !is_doubtful)) return std::nullopt;
    const bool outside = !is_of_library(low);
    return PeerLoss{ranks_in(message, own_rank), hosts_in(message), is_of_service(low), outside,
                    is_doubtful || (outside && is_refusal(low))};
}

/// A record of a lost peer does not excuse a rank whose stderr ends with an error of its own.
std::optional<PeerLoss> peer_loss(const Failure& failure) {
    if (failure.how != ExitKind::exited && failure.how != ExitKind::signalled && failure.how != ExitKind::judged)
        return std::nullopt;
    const PeerLoss kBrokenPipe{.outside = true};
    if (failure.how == ExitKind::signalled && failure.signal != SIGABRT)
        return failure.signal == SIGPIPE ? std::optional(kBrokenPipe) : std::nullopt;
    constexpr int kPipeOfAShell = 128 + SIGPIPE;  // of the program that a shell has run
    if (failure.how == ExitKind::exited && failure.code == kPipeOfAShell && failure.message.empty()) return kBrokenPipe;
    const auto on_stderr = peer_loss(failure.message, failure.rank);
    if (!on_stderr && failure.how == ExitKind::exited && fails_to_use_what_it_receives(failure))
        return PeerLoss{.outside = true, .suspect = true};
    if (!failure.record) return on_stderr;
    const bool has_traceback = std::any_of(failure.stderr_tail.begin(), failure.stderr_tail.end(),
                                           [](const auto& line) { return line.find(kTraceback) != std::string::npos; });
    if (has_traceback && !on_stderr) return std::nullopt;
    auto recorded = peer_loss(failure.record->message, failure.rank);
    return recorded && on_stderr && recorded->ranks.empty() ? on_stderr : recorded;
}

}  // namespace dlaunch::agent
