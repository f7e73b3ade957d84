#include "agent/group/earlier_errors.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace dlaunch::agent {
namespace {

using Event = EarlierErrors::Event;

// The longest times from a rank's error to what follows from it. Libraries may delay a silent exit, and a rank that has
// not failed may have survived its error: then only the error of another one that came at once, or two silent exits.
constexpr auto kAtOnce = std::chrono::milliseconds(100);
constexpr auto kJustShown = std::chrono::seconds(1), kDelayed = std::chrono::seconds(3);
constexpr auto kEndsByLogged = std::chrono::milliseconds(200);  // from a logged error to an exit because of it

/// The first line, since others may be below. Ranks of one program that fail alike name themselves, steps or addresses.
std::string without_numbers(std::string_view message) {
    message = message.substr(0, message.find('\n'));
    std::string text;
    for (std::size_t at = 0; at < message.size(); ++at) {
        if (std::isdigit(static_cast<unsigned char>(message[at])) == 0) {
            text += message[at];
            continue;
        }
        while (at + 1 < message.size() && std::isxdigit(static_cast<unsigned char>(message[at + 1]))) ++at;
    }
    return text;
}

}  // namespace

bool EarlierErrors::ends_by(const Event& error, base::Time at) {
    return !error.may_be_survived || at - error.at <= kEndsByLogged;
}

/// The exit of a library may take long: of torch half a second.
bool EarlierErrors::has_failed_by(const Event& error) const {
    const auto failed = failed_.find(error.rank);
    return failed != failed_.end() && (ends_by(error, failed->second.at) || ends_unlike_peers(failed->second));
}

std::size_t EarlierErrors::silent_peers(int rank) const { return silent_exits_.size() - silent_exits_.count(rank); }

/// Ranks that have lost a peer end alike.
bool EarlierErrors::ends_unlike_peers(const Event& exit) const {
    std::set<int> statuses;
    for (const auto& [rank, status] : silent_exits_)
        if (rank != exit.rank) statuses.insert(status);
    return silent_peers(exit.rank) > 1 && statuses.size() == 1 && !statuses.contains(exit.status);
}

/// Whether the exit of another silent peer would show that the rank ends unlike them.
bool EarlierErrors::needs_another_peer(int rank, const Event& exit) const {
    const auto failed = failed_.find(rank);
    return failed != failed_.end() && failed->second.status != exit.status && silent_peers(rank) == 1;
}

void EarlierErrors::begin() {
    ++round_;
    looks_ = false;
    shown_.clear();
    waiting_.clear();
    undecided_.clear();
    failed_.clear();
    silent_exits_.clear();
}

bool EarlierErrors::precedes(const Event& error, const Event& exit) const {
    if (error.rank == exit.rank) return false;
    const auto between = exit.at - error.at;
    const bool has_failed = has_failed_by(error);
    const bool is_silent = exit.message.empty();
    const bool may_end = !error.may_be_survived && is_alone(error);
    // The line of an error may be read after the silent exit that it caused.
    if (is_silent)
        return has_failed ? between <= kDelayed : between <= kJustShown && silent_exits_.size() > 1 && may_end;
    if (between <= base::Duration::zero() || without_numbers(error.message) == without_numbers(exit.message))
        return false;
    return has_failed ? between <= kJustShown : between <= kAtOnce && may_end;
}

/// Ranks survive an error that several show.
bool EarlierErrors::is_alone(const Event& error) const {
    const auto is_same = [text = without_numbers(error.message)](const auto& other) {
        return without_numbers(other.second.message) == text;
    };
    return std::ranges::count_if(shown_, is_same) == 1;
}

void EarlierErrors::find(const Event& exit, std::function<void()> done) {
    if (exit.message.empty() && silent_exits_.emplace(exit.rank, exit.status).second && silent_exits_.size() > 1)
        review();
    if (rank_before(exit) >= 0) return done();
    waiting_.push_back({exit, std::move(done)});
    if (!looks_) look();
}

int EarlierErrors::rank_before(const Event& exit) const {
    const Event* first = nullptr;
    for (const auto& [rank, error] : shown_)
        if (precedes(error, exit) && (!first || error.at < first->at)) first = &error;
    return first ? first->rank : -1;
}

void EarlierErrors::has_failed(const Event& exit) {
    failed_.emplace(exit.rank, exit);
    review();
}

void EarlierErrors::has_survived(int rank) {
    shown_.erase(rank);
    review();
}

bool EarlierErrors::is_decided(const Event& exit) const {
    const auto may_precede = [&](const auto& shown) {
        const Event& error = shown.second;
        return error.rank != exit.rank && exit.at - error.at <= kDelayed &&
               (surroundings_.lives(error.rank) || needs_another_peer(error.rank, exit));
    };
    return !exit.message.empty() || rank_before(exit) >= 0 || std::ranges::none_of(shown_, may_precede);
}

void EarlierErrors::decide(Undecided waiting) {
    if (is_decided(waiting.exit)) return waiting.done();
    const int rank = waiting.exit.rank;
    if (!waiting.limit)
        waiting.limit = surroundings_.after(kMayStillExit, [this, rank] {
            const auto over = undecided_.extract(rank);
            over.mapped().done();
        });
    undecided_.insert_or_assign(rank, std::move(waiting));
}

/// `done` may call this again.
void EarlierErrors::review() {
    for (auto& [rank, waiting] : std::exchange(undecided_, {})) decide(std::move(waiting));
}

/// A look that has begun may have read a rank's output before that rank showed its error: later exits wait for the
/// next one.
void EarlierErrors::look() {
    looks_ = true;
    const auto done = [this, round = round_,
                       served = std::make_shared<std::vector<Undecided>>(std::exchange(waiting_, {}))](
                          const std::vector<Event>& shown) {
        if (round != round_) return;
        for (const Event& error : shown) shown_.insert_or_assign(error.rank, error);
        for (Undecided& waiting : *served) decide(std::move(waiting));
        if (round != round_) return;  // the answers have begun the next one
        looks_ = false;
        if (!waiting_.empty()) look();
    };
    surroundings_.look(done);
}

}  // namespace dlaunch::agent
