#include "agent/logs/live/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dlaunch::agent {

/// A rank's line shares a row only below the rank's line before, so that its lines keep their order.
std::vector<Row> make_rows(const std::vector<OpenLine>& lines, std::size_t most) {
    std::vector<Row> rows;
    std::map<int, std::size_t> next_of;  // by rank: the index after its last row
    for (const OpenLine& line : lines) {
        std::size_t& next = next_of[line.local_rank];
        while (next < rows.size() && rows[next].text != line.text) ++next;
        if (next == rows.size()) rows.push_back({{}, line.text, line.width});
        rows[next++].local_ranks.push_back(line.local_rank);
    }
    if (rows.size() <= most) return rows;
    Row& rest = rows[most - 1];
    const std::size_t own = rest.local_ranks.size();
    for (std::size_t at = most; at < rows.size(); ++at)
        rest.local_ranks.insert(rest.local_ranks.end(), rows[at].local_ranks.begin(), rows[at].local_ranks.end());
    const std::string more = fmt::format("(and {} more) ", rest.local_ranks.size() - own);
    std::ranges::sort(rest.local_ranks);
    rest.local_ranks.erase(std::unique(rest.local_ranks.begin(), rest.local_ranks.end()), rest.local_ranks.end());
    rest.text = more + rest.text;
    rest.width += more.size();
    rows.resize(most);
    return rows;
}

}  // namespace dlaunch::agent
