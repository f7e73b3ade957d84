#pragma once
/// Finds, for a rank that exits, another rank of the node that had shown its error just before: a rank that fails shows
/// its error, closes its connections and exits, and a peer that sees them closed may exit first, silently or with words
/// of its own. No I/O.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the worker group's shell; runs on the control loop.
class EarlierErrors {
public:
    /// A rank's fatal error (a traceback, a panic), or its exit without one.
    struct Event {
        int rank = 0;
        base::Time at{};
        std::string message{};         ///< of the error
        bool may_be_survived = false;  ///< as FatalError::may_be_survived
    };
    /// Reads the output of all ranks of the node, and passes on the errors that ranks have shown and that are no losses
    /// of a peer. It may take as many reads as there are ranks: one look serves all exits that wait for it.
    using Look = std::function<void(std::function<void(const std::vector<Event>&)> done)>;

    explicit EarlierErrors(Look look) : look_(std::move(look)) {}

    /// A round begins: forgets the last one, and the exits that still wait.
    void begin();
    /// `done` follows when rank_before() knows the answer for this exit, or for that of a rank with this error: at
    /// once, or after a look that began after this call.
    void find(const Event& exit, std::function<void()> done);
    /// The rank whose error this exit, or this error, follows from, as far as the looks have seen; -1: none. Of several
    /// the earliest.
    [[nodiscard]] int rank_before(const Event& exit) const;
    /// The ranks that had shown an error in the seconds before, whether they have survived it or not.
    [[nodiscard]] std::vector<int> ranks_just_before(const Event& exit) const;
    /// The rank has failed by its error: it has not survived it.
    void has_failed(int rank) { failed_.insert(rank); }
    /// The rank has survived its error, and lost a peer.
    void has_survived(int rank) { shown_.erase(rank); }
    [[nodiscard]] bool knows_any() const { return !shown_.empty(); }

private:
    [[nodiscard]] bool precedes(const Event& error, const Event& exit) const;
    [[nodiscard]] bool may_end(const Event& error) const;
    void look();

    const Look look_;
    int round_ = 0;
    bool looks_ = false;
    std::vector<std::function<void()>> waiting_;  ///< for the next look
    std::map<int, Event> shown_;                  ///< by rank
    std::set<int> failed_;
    int silent_exits_ = 0;
};

}  // namespace dlaunch::agent
