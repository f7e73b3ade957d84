#include "rendezvous/base/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::base {

namespace {

struct Character {
    std::size_t length;  ///< in bytes
    std::size_t width;   ///< in columns
};

struct Range {
    char32_t first, last;
    std::size_t width;
};

/// The characters that have this width on every terminal, or more. Marks, joiners and pictures are left out.
constexpr std::array<Range, 14> kSure{{
    {0x20, 0x7E, 1},      // ASCII
    {0xA1, 0xAC, 1},      // Latin, without the soft hyphen
    {0xAE, 0x2FF, 1},     // Latin
    {0x370, 0x482, 1},    // Greek, Cyrillic
    {0x2010, 0x2027, 1},  // punctuation
    {0x2030, 0x205E, 1},  // punctuation
    {0x20A0, 0x20CF, 1},  // currencies
    {0x2100, 0x2319, 1},  // arrows, mathematics
    {0x2400, 0x25FC, 1},  // box drawing, blocks
    {0x2800, 0x28FF, 1},  // Braille, of spinners
    {0x3041, 0x3096, 2},  // Hiragana
    {0x30A1, 0x30FA, 2},  // Katakana
    {0x4E00, 0x9FFF, 2},  // Han
    {0xAC00, 0xD7A3, 2},  // Hangul
}};

/// Of the well-formed UTF-8 sequence at text[at].
char32_t code_point(std::string_view text, std::size_t at, std::size_t length) {
    constexpr std::array<unsigned, 5> kLeadBits{0, 0x7F, 0x1F, 0x0F, 0x07};
    char32_t code = static_cast<unsigned char>(text[at]) & kLeadBits[length];
    for (std::size_t next = 1; next < length; ++next)
        code = (code << 6U) | (static_cast<unsigned char>(text[at + next]) & 0x3FU);
    return code;
}

/// Arrows, boxes, blocks and Braille have one column, as bars and spinners take for granted.
bool is_wide(char32_t code) {
    const auto is_in = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
    return code >= 0x1100 && !is_in(0x1160, 0x2319) && !is_in(0x2400, 0x25FC) && !is_in(0x2800, 0x28FF);
}

/// Bytes that are not UTF-8 count as one column each.
Character character_at(std::string_view text, std::size_t at) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return {1, 1};
    return {length, is_wide(code_point(text, at, length)) ? 2U : 1U};
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

std::size_t columns(std::string_view text) {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto [length, width] = character_at(text, at);
        sum += width;
        at += length;
    }
    return sum;
}

std::size_t least_columns(std::string_view text) {
    std::size_t sum = 0;
    for (std::size_t at = 0, length = 1; at < text.size(); at += std::max<std::size_t>(length, 1)) {
        length = utf8_length(text, at);
        if (length == 0) continue;
        const char32_t code = code_point(text, at, length);
        const auto* range = std::ranges::lower_bound(kSure, code, {}, &Range::last);
        if (range != kSure.end() && code >= range->first) sum += range->width;
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

}  // namespace dlaunch::base
