#pragma once
/// Which ranks of a node have begun and ended MPI, and which exits are failures although their status is 0. No I/O.

#include <cstddef>
#include <optional>
#include <vector>

#include "agent/services/round_service.hpp"

namespace dlaunch::agent {

/// One per round.
class PmixBook {
public:
    explicit PmixBook(std::size_t ranks) : ranks_(ranks) {}

    /// MPI_Init, also of a further program that a script runs. Returns the local rank of a rank that has ended without
    /// it, for which this one would wait for ever.
    [[nodiscard]] std::optional<int> connected(int local_rank);
    void finalized(int local_rank) { at(local_rank).has_finalized = true; }
    /// MPI_Abort: the verdict on the rank.
    [[nodiscard]] Verdict aborted(int local_rank, int code);
    /// A process has ended with this status.
    [[nodiscard]] std::optional<Verdict> ended(int local_rank, int status);

    /// A rank of this node takes part in MPI.
    [[nodiscard]] bool any_connected() const;
    /// A rank of this node has ended with 0 and without MPI_Init; none: no rank has.
    [[nodiscard]] std::optional<int> absent() const;
    /// The verdict on the rank of absent(), when ranks of other nodes wait for it.
    [[nodiscard]] static Verdict is_missed();
    /// For a rank that waits for one of another node.
    [[nodiscard]] static Verdict waits_for(std::string_view rank);

private:
    struct Rank {
        bool has_init = false, has_finalized = false, has_ended = false;
        std::optional<Verdict> verdict;
    };
    [[nodiscard]] Rank& at(int local_rank) { return ranks_[static_cast<std::size_t>(local_rank)]; }

    std::vector<Rank> ranks_;
};

}  // namespace dlaunch::agent
