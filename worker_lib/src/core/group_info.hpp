#pragma once
/// How texts and transports call the ranks of a group.

#include <string>
#include <utility>
#include <vector>

namespace dlaunch::worker {

/// "rank 3", "ranks 1, 2 and 5".
[[nodiscard]] std::string list_ranks(const std::vector<int>& ranks);

/// The numbers by which texts name the ranks of a group, like those of logs and reports: Member::named. Error::ranks()
/// has ranks of the group.
class RankNames {
public:
    RankNames() = default;  ///< the ranks themselves
    explicit RankNames(std::vector<int> by_rank) : by_rank_(std::move(by_rank)) {}

    [[nodiscard]] int operator[](int rank) const {
        return by_rank_.empty() ? rank : by_rank_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::string list(std::vector<int> ranks) const {
        for (int& rank : ranks) rank = (*this)[rank];
        return list_ranks(ranks);
    }

private:
    std::vector<int> by_rank_;
};

/// A group as one of its ranks sees it: names for error texts, and this rank's position.
struct GroupInfo {
    std::string name;
    int rank = 0, size = 1;
    RankNames names{};          ///< of the ranks in `labels`
    std::vector<int> labels{};  ///< rank numbers to report in errors, by rank; empty: the ranks themselves

    [[nodiscard]] int label(int r) const { return labels.empty() ? r : labels[static_cast<std::size_t>(r)]; }
    /// The number of a rank in texts.
    [[nodiscard]] int named(int r) const { return names[label(r)]; }
};

}  // namespace dlaunch::worker
