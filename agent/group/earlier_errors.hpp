#pragma once
/// Finds, for a rank that exits without an error of its own, another rank of the node that had shown its error just
/// before: a rank that fails shows its error, closes its connections and exits, and a peer that sees them closed may
/// exit first, silently or with words of its own. No I/O.

#include <functional>
#include <map>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the worker group's shell; runs on the control loop.
class EarlierErrors {
public:
    /// A rank's error, or its exit.
    struct Event {
        int rank = 0;
        base::Time at{};
    };
    /// Reads the output of all ranks of the node, and passes on the errors that ranks have shown and that are no losses
    /// of a peer. It may take as many reads as there are ranks: one look serves all exits that wait for it.
    using Look = std::function<void(std::function<void(std::vector<Event>)> done)>;

    explicit EarlierErrors(Look look) : look_(std::move(look)) {}

    /// A round begins: forgets the last one, and the exits that still wait.
    void begin();
    /// `done` follows when rank_before() knows the answer: at once, or after a look that began after this call.
    void find(const Event& exit, std::function<void()> done);
    /// The rank that had shown its error before this one's exit; -1: none.
    [[nodiscard]] int rank_before(int exited) const;

private:
    struct Waiting {
        Event exit;
        std::function<void()> done;
    };
    [[nodiscard]] bool settle(const Event& exit);
    void look();

    const Look look_;
    int round_ = 0;
    bool looks_ = false;
    std::vector<Event> shown_;
    std::vector<Waiting> waiting_;  ///< for the next look
    std::map<int, int> found_;      ///< by rank that exited
};

}  // namespace dlaunch::agent
