#include "worker_lib/src/core/group_info.hpp"

#include <fmt/format.h>

namespace dlaunch::worker {

std::string list_ranks(const std::vector<int>& ranks) {
    constexpr std::size_t kMost = 16;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i == kMost) return text + fmt::format(" and {} more", ranks.size() - kMost);
        if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += std::to_string(ranks[i]);
    }
    return text;
}

}  // namespace dlaunch::worker
