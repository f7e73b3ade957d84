#include "agent/errors/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace dlaunch::agent {

std::string duration_text(double seconds) {
    if (!(seconds > 0)) return "0 ms";
    if (seconds < 0.0995) return fmt::format("{:.0f} ms", std::ceil(seconds * 1000));
    if (seconds < 600) return fmt::format("{:.1f} s", seconds);
    const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15));
    if (whole < std::int64_t{2} * 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    if (whole < std::int64_t{2} * 86400) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
    return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string size_text(double bytes) {
    static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    // 1023.5 would be printed as "1024 KiB".
    for (; bytes >= 1023.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
    const auto nearest = static_cast<double>(static_cast<std::int64_t>(bytes + 0.5));
    const bool whole = unit == 0 || bytes >= 99.95 || std::abs(bytes - nearest) < 0.05;
    return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, kUnits[unit]);
}

}  // namespace dlaunch::agent
