#include "agent/logs/prefix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "rendezvous/base/text.hpp"
#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {

std::string expand_prefix(std::string_view prefix_template, const PrefixValues& values) {
    return base::substitute(prefix_template, base::TwoDollars::one,
                            {{"role_name", values.role_name},
                             {"local_rank", values.local_rank},
                             {"rank", values.rank},
                             {"hostname", values.hostname}});
}

std::string LinePrefixes::of(const std::vector<int>& local_ranks) const {
    std::vector<std::string_view> roles;
    std::vector<int> ranks;
    for (const int local_rank : local_ranks) {
        const std::string_view role = roles_.at(static_cast<std::size_t>(local_rank));
        if (std::find(roles.begin(), roles.end(), role) == roles.end()) roles.push_back(role);
        ranks.push_back(ranks_.at(local_rank));
    }
    return expand_prefix(template_, {fmt::format("{}", fmt::join(roles, ",")), base::number_ranges(local_ranks),
                                     base::number_ranges(ranks), hostname_});
}

std::string LinePrefixes::of_template() const {
    return expand_prefix(template_, {"", "template", "template", hostname_});
}

std::string LinePrefixes::ranks(const std::vector<int>& local_ranks) const {
    std::vector<int> ranks;
    for (const int local_rank : local_ranks) ranks.push_back(ranks_.at(local_rank));
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", base::number_ranges(ranks));
}

std::string coloured(std::string_view text, int rank) {
    if (text.empty()) return {};
    // No black, white or red: background, plain text and errors use those.
    static constexpr std::array kColours{36, 33, 35, 32, 34, 96, 93, 95, 92, 94};
    const auto index = static_cast<unsigned>(rank) % kColours.size();
    return fmt::format("\x1b[{}m{}\x1b[0m", kColours[index], text);
}

bool wants_colours(const char* no_color, const char* term) {
    return !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
}

std::string timestamp(std::chrono::system_clock::time_point when) { return base::utc_text(when) + ' '; }

}  // namespace dlaunch::agent
