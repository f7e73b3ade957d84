#include "agent/logs/prefix.hpp"

#include <fmt/format.h>

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
