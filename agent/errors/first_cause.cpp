#include "agent/errors/first_cause.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "agent/errors/peer_loss.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

using Failures = std::vector<Failure>;

/// The kernel raises these in the process itself.
bool is_crash(int signal) {
    switch (signal) {
        case SIGSEGV:
        case SIGBUS:
        case SIGFPE:
        case SIGILL:
        case SIGSYS:
        case SIGTRAP:
        case SIGABRT:
        case SIGXCPU:
        case SIGXFSZ: return true;
        default: return false;
    }
}

bool exited_with_0(const Failure& failure) { return failure.how == ExitKind::exited && failure.code == 0; }

bool may_have_lost_peer(const Failure& failure) {
    return failure.strength == Strength::lost_peer || failure.strength == Strength::unread;
}

Failures::iterator find_rank(Failures& failures, int rank) {
    return std::find_if(failures.begin(), failures.end(), [rank](const Failure& each) { return each.rank == rank; });
}

/// Adds a vote for each rank to which the names in messages lead from this failure: one rank lost the next.
void add_votes(Failures& failures, const Failure& from, std::map<int, int>& votes) {
    std::vector<int> open = from.lost_ranks;
    std::set<int> met;
    while (!open.empty()) {
        const int rank = open.back();
        open.pop_back();
        if (rank == from.rank || !met.insert(rank).second) continue;
        ++votes[rank];
        if (const auto found = find_rank(failures, rank); found != failures.end())
            open.insert(open.end(), found->lost_ranks.begin(), found->lost_ranks.end());
    }
}

/// The rank at which the names in messages of lost peers end. A rank that failed itself is named only if no other rank
/// is, and one whose message names the next rank only if all do. Of several the one to which most ranks lead, else the
/// earliest exit.
std::optional<int> last_named(Failures& failures) {
    std::map<int, int> leading, naming;
    std::vector<int> order;
    for (const Failure& failure : failures) {
        for (const int rank : failure.lost_ranks)
            if (naming[rank]++ == 0) order.push_back(rank);
        add_votes(failures, failure, leading);
    }
    const auto weight = [&](int rank) {
        const auto found = find_rank(failures, rank);
        const bool failed = found != failures.end() && may_have_lost_peer(*found);
        const bool names_another = failed && !found->lost_ranks.empty();
        const double after = found == failures.end() ? 0 : found->after.count();
        return std::tuple(!failed, !names_another, leading[rank], naming[rank], -after, -rank);
    };
    std::optional<int> best;
    for (const int rank : order)
        if (!best || weight(rank) > weight(*best)) best = rank;
    return best;
}

template <class Condition>
std::string ranks_where(const Failures& failures, const Condition& condition) {
    std::vector<int> ranks;
    for (const Failure& failure : failures)
        if (condition(failure)) ranks.push_back(failure.rank);
    std::sort(ranks.begin(), ranks.end());
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", base::number_ranges(ranks, ", "));
}

std::string ranks_that_lost_a_peer(const Failures& failures) {
    return ranks_where(failures, [](const Failure& each) { return each.strength == Strength::lost_peer; });
}

/// "the messages of ranks 0, 2 name it"
std::string named_by(const Failures& failures, int rank) {
    const std::string ranks = ranks_where(failures, [rank](const Failure& each) {
        return std::ranges::find(each.lost_ranks, rank) != each.lost_ranks.end();
    });
    const bool all_follow = std::ranges::all_of(failures, [rank](const Failure& each) {
        return each.follows_rank == rank || std::ranges::find(each.lost_ranks, rank) == each.lost_ranks.end();
    });
    return all_follow ? "it had shown its error when " + ranks + " exited" : "the messages of " + ranks + " name it";
}

/// A rank of which no record has come: its host and its exit are unknown.
Failures::iterator add_unknown(Failures& failures, int rank) {
    Failure made;
    made.rank = rank;
    made.round = failures.front().round;
    made.how = ExitKind::stopped;
    made.strength = Strength::none;
    return failures.insert(failures.end(), std::move(made));
}

Failures::iterator first_with(Failures& failures, Strength strength) {
    return std::find_if(failures.begin(), failures.end(),
                        [&](const Failure& each) { return each.strength == strength; });
}

/// The earliest rank with a loss of this kind (a web server, a refused connection), whose exit its peers report. None
/// if most ranks have one, or no other rank has lost a peer.
Failures::iterator lone_loss(Failures& failures, bool Failure::*kind) {
    const auto lost = std::ranges::count(failures, Strength::lost_peer, &Failure::strength);
    const auto of_kind = [kind](const Failure& each) { return each.strength == Strength::lost_peer && each.*kind; };
    const auto such = std::ranges::count_if(failures, of_kind);
    return 2 * such > lost || lost < 2 ? failures.end() : std::ranges::find_if(failures, of_kind);
}

/// None where more ranks have exited with 0 than have failed: then the ranks had finished their common work, and a
/// later loss is not that of a rank.
Failures::iterator find_early_exit(Failures& failures, const Failure& first_loss, std::int64_t finished) {
    auto found = failures.end();
    const auto failed = std::ranges::count_if(failures, std::not_fn(exited_with_0));
    if (std::max<std::int64_t>(finished, std::ranges::count_if(failures, exited_with_0)) > failed) return found;
    for (auto each = failures.begin(); each != failures.end(); ++each)
        if (exited_with_0(*each) && each->after >= first_loss.after - kEarlyExit &&
            (found == failures.end() || each->after < found->after))
            found = each;
    return found;
}

void choose(Failures& failures, Failures::iterator cause, std::string because) {
    if (cause->collateral && !exited_with_0(*cause)) cause->how = ExitKind::stopped;
    cause->collateral = false;
    cause->because = std::move(because);
    std::rotate(failures.begin(), cause, cause + 1);
}

}  // namespace

void weigh(Failure& failure) {
    failure.lost_ranks.clear();
    failure.lost_hosts.clear();
    failure.lost_service = failure.lost_outside = failure.is_suspect = false;
    failure.strength = Strength::none;
    if (failure.collateral || exited_with_0(failure) || failure.how == ExitKind::stopped) return;
    failure.strength = Strength::crash;
    // MPICH calls MPI_Abort where it has lost a peer.
    if (failure.how != ExitKind::exited && failure.how != ExitKind::signalled && failure.how != ExitKind::judged)
        return;
    if (failure.of_template() || failure.out_of_memory != OutOfMemory::no) return;
    if (failure.is_unread && failure.how == ExitKind::exited && !failure.record) {
        failure.strength = Strength::unread;
    } else if (const auto loss = peer_loss(failure)) {
        failure.strength = Strength::lost_peer;
        failure.lost_ranks = loss->ranks;
        failure.lost_hosts = loss->hosts;
        failure.lost_service = loss->of_service;
        failure.lost_outside = loss->outside;
        failure.is_suspect = loss->suspect;
    } else if (failure.follows_rank >= 0 && failure.how == ExitKind::exited && !failure.record) {
        failure.strength = Strength::lost_peer;
        failure.lost_ranks = {failure.follows_rank};
    } else if (failure.how == ExitKind::signalled ? !is_crash(failure.signal)
                                                  : failure.how == ExitKind::exited && !failure.record) {
        failure.strength = Strength::own_error;
    }
}

Strength put_first_cause_first(Failures& failures, std::int64_t finished) {
    for (const Strength own : {Strength::crash, Strength::own_error})
        if (const auto cause = first_with(failures, own); cause != failures.end()) {
            std::string because =
                own == Strength::crash ? "the earliest crash or recorded error" : "the earliest error of its own";
            if (first_with(failures, Strength::lost_peer) != failures.end())
                because += "; " + ranks_that_lost_a_peer(failures) + " had lost a peer";
            choose(failures, cause, std::move(because));
            return own;
        }
    const auto loss = first_with(failures, Strength::lost_peer), unread = first_with(failures, Strength::unread);
    if (const auto named = last_named(failures)) {
        const auto found = find_rank(failures, *named);
        const std::string because = named_by(failures, *named);
        choose(failures, found == failures.end() ? add_unknown(failures, *named) : found, because);
        return Strength::named;
    }
    if (const auto service = lone_loss(failures, &Failure::lost_service); service != failures.end()) {
        choose(failures, service, "it lost a server; " + ranks_that_lost_a_peer(failures) + " had lost a peer");
        return Strength::lost_peer;
    }
    if (loss != failures.end())
        if (const auto early = find_early_exit(failures, *loss, finished); early != failures.end()) {
            choose(failures, early, "it exited with 0, and " + ranks_that_lost_a_peer(failures) + " lost a peer");
            return Strength::early_exit;
        }
    for (const auto kind : {&Failure::lost_outside, &Failure::is_suspect})
        if (const auto other = lone_loss(failures, kind); other != failures.end()) {
            choose(failures, other,
                   "its message is of another kind; " + ranks_that_lost_a_peer(failures) + " had lost a peer");
            return Strength::lost_peer;
        }
    if (unread != failures.end()) {
        choose(failures, unread, "dlaunch did not read its stderr, the terminal, and no other rank failed by itself");
        return Strength::unread;
    }
    if (loss == failures.end()) return Strength::none;
    choose(failures, loss, "the earliest exit: every failed rank had lost a peer");
    return Strength::lost_peer;
}

bool is_of_another_node(const Failure& failure) { return failure.how == ExitKind::stopped && failure.host.empty(); }

void drop_early_exits(Failures& failures) {
    if (failures.empty()) return;
    // Each node chooses a cause of its own first.
    const auto others = failures.begin() + (failures.front().collateral ? 0 : 1);
    failures.erase(std::remove_if(others, failures.end(), exited_with_0), failures.end());
}

int exit_status_of(const Failures& failures) {
    if (failures.empty()) return 1;
    const Failure& cause = failures.front();
    if (cause.how != ExitKind::stopped && cause.exit_status() != 0) return cause.exit_status();
    const auto failed = std::find_if(failures.begin(), failures.end(), may_have_lost_peer);
    return failed == failures.end() ? 1 : failed->exit_status();
}

}  // namespace dlaunch::agent
