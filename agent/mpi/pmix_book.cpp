#include "agent/mpi/pmix_book.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::agent {

std::optional<int> PmixBook::connected(int local_rank) {
    at(local_rank).has_init = true;
    at(local_rank).has_finalized = false;
    return absent();
}

/// MPI_Abort's code is the job's, as far as an exit status can hold it; 0 would look like a success.
Verdict PmixBook::aborted(int local_rank, int code) {
    const auto status = static_cast<int>(static_cast<unsigned>(code) & 0xFF);
    at(local_rank).verdict = Verdict{status == 0 ? 1 : status, fmt::format("called MPI_Abort with {}", code)};
    return *at(local_rank).verdict;
}

std::optional<Verdict> PmixBook::ended(int local_rank, int status) {
    Rank& rank = at(local_rank);
    rank.has_ended = status == 0;
    if (rank.verdict) return rank.verdict;
    if (status != 0 || rank.has_finalized) return std::nullopt;
    if (rank.has_init) return Verdict{1, "exited with 0 before MPI_Finalize"};
    if (any_connected()) return is_missed();
    return std::nullopt;
}

Verdict PmixBook::waits_for(std::string_view rank) {
    return {1, fmt::format("waits for rank {}, which exited with 0 without MPI_Init", rank)};
}

Verdict PmixBook::is_missed() { return {1, "exited with 0 without MPI_Init"}; }

bool PmixBook::any_connected() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.has_init; });
}

std::optional<int> PmixBook::absent() const {
    const auto found = std::ranges::find_if(ranks_, [](const Rank& rank) { return rank.has_ended && !rank.has_init; });
    if (found == ranks_.end()) return std::nullopt;
    return static_cast<int>(found - ranks_.begin());
}

}  // namespace dlaunch::agent
