#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "rendezvous/base/host.hpp"
#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/bootstrap/cores.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"

namespace dlaunch::worker {
namespace {

/// $DLAUNCH_HOST_ID; else the kernel's boot id with the network and pid namespaces. Processes in different containers
/// cannot see each other and count as different hosts.
std::string host_id() {
    if (const auto given = variable("DLAUNCH_HOST_ID")) return *given;
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    if (boot.empty()) boot = base::host_name();
    for (const char* kind : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
        struct stat status {};
        boot += fmt::format("/{}", stat(kind, &status) == 0 ? status.st_ino : 0);
    }
    return boot;
}

std::string pack(const Member& member) {
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", member.host_id, member.pid, member.host, member.backend, member.named,
                       member.cores);
}

Member unpack(const std::string& text) {
    std::istringstream lines(text);
    Member member;
    std::getline(lines, member.host_id);
    lines >> member.pid >> member.host >> member.backend >> member.named >> member.cores;
    return member;
}

const Error::Where kJoining{"init_process_group", 0, ""};
/// How long a rank waits after a mismatch until the other ranks have read the members.
constexpr std::chrono::seconds kReadTimeout{2};

/// First character of a packed Error, in place of the value of a rank that the other ranks no longer wait for:
/// "\nCODE RANK,RANK,... TEXT".
constexpr char kGivenUp = '\n';

bool is_given_up(const std::string& value) { return value.starts_with(kGivenUp); }

}  // namespace

std::string pack_error(const Error& error) {
    return fmt::format("{}{} {} {}", kGivenUp, static_cast<int>(error.code()), fmt::join(error.ranks(), ","),
                       error.what());
}

Error unpack_error(const std::string& text, const Error::Where& where) {
    std::istringstream words(text);
    int code = 0, rank = 0;
    std::vector<int> ranks;
    words >> code;
    do {
        words >> rank;
        ranks.push_back(rank);
    } while (words.get() == ',');
    std::string what;
    std::getline(words, what);
    return {static_cast<ErrorCode>(code), what, ranks, where};
}

namespace {

/// The Error of a rank that gave up, if one has. Throws Error if the store fails.
std::optional<std::string> given_up_value(const StoreHandle& store, std::span<const std::string> keys, Time deadline) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!store.check(keys.subspan(i, 1), deadline)) continue;
        if (std::string value = store.multi_get(keys.subspan(i, 1), deadline).front(); is_given_up(value)) return value;
    }
    return std::nullopt;
}

/// A rank that gave up exits, and its peers may detect the exit first: throws the rank's Error instead, if it has one.
void prefer_given_up(const StoreHandle& store, const Error::Where& where, std::span<const std::string> keys,
                     Time deadline) {
    std::optional<std::string> value;
    try {
        value = given_up_value(store.with_liveness_check({}, {}), keys, deadline);
    } catch (const Error&) {
        // The store is gone; the caller uses its own finding.
    }
    if (value) throw unpack_error(*value, where);
}

}  // namespace

/// After a failed wait a rank stores the Error under the keys of the missing ranks. This ends the waits of all other
/// ranks at once and with the same Error, on every host; a missing rank that arrives later finds the Error under its
/// own key.
std::vector<std::string> roll_call(const StoreHandle& store, const Error::Where& where, std::span<const int> ranks,
                                   int rank, const RankNames& names, const std::string& value, Time deadline) {
    const Time begin = Clock::now();
    const std::string place = where.group.empty() ? where.op : where.op + " in group " + where.group;
    const auto publish = [&](int r, const std::string& own) {
        const std::string stored = store.compare_set(std::to_string(r), "", own, deadline);
        if (is_given_up(stored) && stored != own) throw unpack_error(stored, where);
        if (stored != own) store.set(std::to_string(r), own, deadline);
    };
    std::vector<std::string> keys, received;
    for (const int r : ranks) keys.push_back(std::to_string(r));
    publish(rank, value);
    try {
        received = store.multi_get(keys, deadline);
    } catch (const Error& error) {
        deadline = Clock::now() + std::chrono::seconds(5);
        std::vector<int> blamed = error.ranks();
        std::string what = error.what();
        if (error.code() == ErrorCode::peer_lost) prefer_given_up(store, where, keys, deadline);
        if (error.code() == ErrorCode::timeout) {
            for (std::size_t i = 0; i < keys.size(); ++i)
                if (!store.check(std::span(&keys[i], 1), deadline)) blamed.push_back(ranks[i]);
            what =
                fmt::format("{}: {} did not join within {}", place, names.list(blamed), describe(Clock::now() - begin));
        } else if (blamed.empty()) {
            throw;
        }
        const Error given_up{error.code(), what, blamed, where};
        for (const int r : blamed) {
            try {
                publish(r, pack_error(given_up));
            } catch (const Error& other) {
                if (!other.ranks().empty()) throw;  // another rank gave up first; an Error of the store names no ranks
            }
        }
        if (!blamed.empty()) throw given_up;
        received = store.multi_get(keys, deadline);  // the last values arrived after the time-out
    }
    const auto given_up = std::find_if(received.begin(), received.end(), is_given_up);
    if (given_up != received.end()) throw unpack_error(*given_up, where);
    return received;
}

void check_backends(std::span<const Member> members) {
    std::vector<std::pair<std::string, std::vector<int>>> ranks_by_backend;  // in the order of the first ranks
    for (int r = 0; const Member& member : members) {
        auto found = std::find_if(ranks_by_backend.begin(), ranks_by_backend.end(),
                                  [&](const auto& entry) { return entry.first == member.backend; });
        if (found == ranks_by_backend.end()) found = ranks_by_backend.insert(found, {member.backend, {}});
        found->second.push_back(r++);
    }
    if (ranks_by_backend.size() < 2) return;
    std::string text;
    std::vector<int> odd{0};
    for (const auto& [backend, ranks] : ranks_by_backend) {
        text += fmt::format("{}{} asked for the backend {}", text.empty() ? "" : ", ", list_ranks(ranks), backend);
        if (ranks[0] != 0) odd.insert(odd.end(), ranks.begin(), ranks.end());
    }
    throw Error(ErrorCode::mismatch,
                fmt::format("init_process_group: {}; all ranks must name the same one, by the argument or "
                            "DLAUNCH_BACKEND",
                            text),
                odd, kJoining);
}

int rank_of_environment() {
    try {
        return integer_variable("RANK").value_or(-1);
    } catch (const Error&) {
        return -1;  // bootstrap() refuses it where the program gives no rank of its own
    }
}

void name_by_rank(std::span<Member> members) {
    std::set<int> names;
    for (const Member& member : members)
        if (member.named >= 0) names.insert(member.named);
    if (names.size() == members.size()) return;
    for (int rank = 0; Member & member : members) member.named = rank++;
}

std::vector<Member> exchange_members(const StoreHandle& store, int rank, int world_size, const std::string& backend,
                                     Time deadline) {
    std::vector<int> ranks(static_cast<std::size_t>(world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const Member own{host_id(), getpid(), base::host_name(), backend, usable_core_mask(), rank_of_environment()};
    std::vector<Member> members;
    for (const std::string& text : roll_call(store.below("member"), kJoining, ranks, rank, {}, pack(own), deadline))
        members.push_back(unpack(text));
    name_by_rank(members);
    try {
        check_backends(members);
    } catch (const Error&) {
        // The store may live in a rank that leaves with this error: no rank leaves before all have read the members.
        try {
            (void)roll_call(store.below("read"), kJoining, ranks, rank, {}, "read",
                            std::min(deadline, after(kReadTimeout)));
        } catch (const Error&) {
            // A rank was late, or the store has gone with the first rank that left.
        }
        throw;
    }
    return members;
}

}  // namespace dlaunch::worker
