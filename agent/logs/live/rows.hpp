#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlaunch::agent {

/// An unfinished line of one rank.
struct OpenLine {
    int local_rank = 0;
    std::string text;       ///< as LineModel::text() makes it
    std::size_t width = 0;  ///< in columns
};

/// One row of the block at the bottom of the screen.
struct Row {
    std::vector<int> local_ranks;  ///< of the prefix
    std::string text;              ///< after the prefix
    std::size_t width = 0;

    friend bool operator==(const Row&, const Row&) = default;
};

/// The rows for the unfinished lines, in the order given: ranks with the same line share a row, and what has no space
/// within `most` rows (1 at least) shares the last one, which shows the first of its lines. Lines of one rank keep
/// their order. No I/O.
[[nodiscard]] std::vector<Row> make_rows(const std::vector<OpenLine>& lines, std::size_t most);

}  // namespace dlaunch::agent
