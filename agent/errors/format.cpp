#include "agent/errors/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {

namespace {

struct Character {
    std::size_t length;  ///< in bytes
    std::size_t width;   ///< in columns
};

/// Bytes that are not UTF-8 count as one column each.
Character character_at(std::string_view text, std::size_t at) {
    const std::size_t length = std::max<std::size_t>(base::utf8_length(text, at), 1);
    const bool wide =
        length > 3 ||
        (length == 3 && static_cast<unsigned char>(text[at]) >= 0xE1 &&
         (static_cast<unsigned char>(text[at]) > 0xE1 || static_cast<unsigned char>(text[at + 1]) >= 0x84));
    return {length, wide ? 2U : 1U};
}

/// The number of leading bytes that fill at most `most` columns.
std::size_t front_bytes(std::string_view text, std::size_t most) {
    std::size_t at = 0;
    for (std::size_t used = 0; at < text.size();) {
        const auto [length, width] = character_at(text, at);
        if (used + width > most) break;
        used += width;
        at += length;
    }
    return at;
}

}  // namespace

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

std::size_t columns(std::string_view text) {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto [length, width] = character_at(text, at);
        sum += width;
        at += length;
    }
    return sum;
}

std::string shorten_middle(std::string_view text, std::size_t most) {
    const std::size_t all = columns(text);
    if (all <= most) return std::string(text);
    most = std::max<std::size_t>(most, 3);
    const std::size_t front = (most - 3 + 1) / 2, back = most - 3 - front;
    std::size_t tail = 0;
    for (std::size_t left = all; left > back && tail < text.size();) {
        const auto [length, width] = character_at(text, tail);
        left -= width;
        tail += length;
    }
    return fmt::format("{}...{}", text.substr(0, front_bytes(text, front)), text.substr(tail));
}

}  // namespace dlaunch::agent
