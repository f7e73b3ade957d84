#pragma once
/// Finds, for a rank that exits, another rank of the node that had shown its error just before: a rank that fails shows
/// its error, closes its connections and exits, and a peer that sees them closed may exit first, silently or with words
/// of its own. No I/O.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the worker group's shell; runs on the control loop.
class EarlierErrors {
public:
    /// A rank's error (StatedError), or its exit without one.
    struct Event {
        int rank = 0;
        base::Time at{};
        std::string message{};         ///< of the error
        bool may_be_survived = false;  ///< as StatedError::may_be_survived
        int status = 0;                ///< of the exit
    };
    /// Reads the output of all ranks of the node, and passes on the errors that ranks have shown and that are no losses
    /// of a peer. It may take as many reads as there are ranks: one look serves all exits that wait for it.
    using Look = std::function<void(std::function<void(const std::vector<Event>&)> done)>;
    struct Surroundings {
        Look look;
        std::function<bool(int rank)> lives;
        std::function<base::Timer(base::Duration, std::function<void()>)> after;
    };
    static constexpr auto kMayStillExit = std::chrono::milliseconds(150);

    /// Whether the rank exited at `at` because of this error. It may have logged the error, gone on, and exited later
    /// because of a peer.
    [[nodiscard]] static bool ends_by(const Event& error, base::Time at);

    explicit EarlierErrors(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

    /// A round begins: forgets the last one, and the exits that still wait.
    void begin();
    /// The round's workers have exited or are stopped: exits that still wait get no answer.
    void end() { undecided_.clear(); }
    /// `done` follows when rank_before() knows the answer for this exit, or for that of a rank with this error: at
    /// once, or after a look that began after this call. A living rank that has just shown an error may be about to
    /// exit: a silent exit waits for that, at most kMayStillExit.
    void find(const Event& exit, std::function<void()> done);
    /// The rank whose error this exit, or this error, follows from, as far as the looks have seen; -1: none. Of several
    /// the earliest.
    [[nodiscard]] int rank_before(const Event& exit) const;
    /// The rank has failed by this exit: it has not survived its error, unless that was logged long before.
    void has_failed(const Event& exit);
    /// The rank has survived its error, and lost a peer.
    void has_survived(int rank);
    [[nodiscard]] bool knows_any() const { return !shown_.empty(); }

private:
    struct Undecided {
        Event exit;
        std::function<void()> done;
        std::optional<base::Timer> limit{};
    };

    [[nodiscard]] bool has_failed_by(const Event& error) const;
    [[nodiscard]] bool ends_unlike_peers(const Event& exit) const;
    [[nodiscard]] bool needs_another_peer(int rank, const Event& exit) const;
    [[nodiscard]] std::size_t silent_peers(int rank) const;
    [[nodiscard]] bool precedes(const Event& error, const Event& exit) const;
    [[nodiscard]] bool is_alone(const Event& error) const;
    [[nodiscard]] bool is_decided(const Event& exit) const;
    void look();
    void decide(Undecided waiting);
    void review();

    const Surroundings surroundings_;
    int round_ = 0;
    bool looks_ = false;
    std::vector<Undecided> waiting_;      ///< for the next look
    std::map<int, Undecided> undecided_;  ///< by rank: silent exits beside a living rank
    std::map<int, Event> shown_;          ///< by rank
    std::map<int, Event> failed_;         ///< exits by rank
    std::map<int, int> silent_exits_;     ///< statuses by rank
};

}  // namespace dlaunch::agent
