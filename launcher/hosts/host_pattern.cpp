#include "launcher/hosts/host_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::size_t kMostDigits = 18;  // of a number: fits 64 bits

struct Range {
    std::uint64_t first = 0, last = 0;
    std::size_t width = 0;  ///< least number of digits
};

/// Text, then a number of one of the ranges if there are any.
struct Piece {
    std::string_view text;
    std::vector<Range> ranges;
};

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '+';
}

std::optional<std::uint64_t> number(std::string_view digits) {
    std::uint64_t value = 0;
    const bool plain = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (digits.empty() || digits.size() > kMostDigits || !plain) return std::nullopt;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

Result<Range> parse_range(std::string_view pattern, std::string_view text) {
    if (text.empty())
        return Error{
            fmt::format("{}: a bracket with an empty range, expected numbers as [01-03,7]", shown_pattern(pattern))};
    const std::size_t dash = text.find('-');
    const std::string_view low = text.substr(0, dash), high = dash == text.npos ? low : text.substr(dash + 1);
    const auto first = number(low), last = number(high);
    if (!first || !last)
        return Error{fmt::format("{}: range {}, expected FIRST-LAST or a number, of at most {} digits",
                                 shown_pattern(pattern), shown_pattern(text), kMostDigits)};
    if (*first > *last)
        return Error{fmt::format("{}: range {}, expected its first number not above its last", shown_pattern(pattern),
                                 shown_pattern(text))};
    return Range{*first, *last, low.size()};
}

Result<std::vector<Piece>> parse_pieces(std::string_view pattern) {
    std::vector<Piece> pieces;
    for (std::string_view rest = pattern; !rest.empty();) {
        const std::size_t open = std::min(rest.find('['), rest.size()), close = std::min(rest.find(']'), rest.size());
        Piece piece{rest.substr(0, open), {}};
        const bool has_bracket = open < rest.size();
        const std::string_view inside = close > open ? rest.substr(open, close - open).substr(1) : std::string_view();
        if (close < open || (has_bracket && close == rest.size()) || inside.find('[') != inside.npos)
            return Error{
                fmt::format("{}: expected brackets in pairs, without brackets inside", shown_pattern(pattern))};
        if (!std::ranges::all_of(piece.text, is_name_character))
            return Error{
                fmt::format("{}: expected a name of letters, digits, '-', '.', '_' and '+'", shown_pattern(pattern))};
        if (has_bracket)
            for (const std::string_view text : base::split(inside, ',')) {
                const auto range = parse_range(pattern, text);
                if (!range) return range.error();
                piece.ranges.push_back(*range);
            }
        rest.remove_prefix(has_bracket ? close + 1 : open);
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

/// How many numbers the ranges have, or `most` + 1 if they have more than `most`.
std::size_t count(const std::vector<Range>& ranges, std::size_t most) {
    std::uint64_t sum = 0;
    for (const Range& range : ranges) sum = std::min<std::uint64_t>(sum + (range.last - range.first) + 1, most + 1);
    return sum;
}

std::size_t longest(const Piece& piece) {
    std::size_t bytes = 0;
    for (const Range& range : piece.ranges)
        bytes = std::max({bytes, range.width, fmt::formatted_size("{}", range.last)});
    return piece.text.size() + bytes;
}

Result<void> check_size(std::string_view pattern, const std::vector<Piece>& pieces, std::size_t most) {
    std::size_t names = 1, bytes = 0;
    for (const Piece& piece : pieces) {
        bytes += longest(piece);
        // Both factors are at most `most` + 1, whose square fits 64 bits.
        if (!piece.ranges.empty()) names = std::min(names * count(piece.ranges, most), most + 1);
    }
    if (bytes > kMostHostNameBytes)
        return Error{fmt::format("{}: a name of {} bytes, expected at most {} bytes", shown_pattern(pattern), bytes,
                                 kMostHostNameBytes)};
    if (names > most)
        return Error{
            fmt::format("{}: too many names, expected at most {} in a list", shown_pattern(pattern), kMostHosts)};
    return {};
}

std::vector<std::string> each_with_each(const std::vector<std::string>& names, const std::vector<Range>& ranges) {
    std::vector<std::string> found;
    for (const std::string& name : names)
        for (const Range& range : ranges)
            for (std::uint64_t at = range.first; at <= range.last; ++at)
                found.push_back(fmt::format("{}{:0{}}", name, at, range.width));
    return found;
}

}  // namespace

Result<std::vector<std::string>> expand_host_pattern(std::string_view pattern, std::size_t most) {
    const auto pieces = parse_pieces(pattern);
    if (!pieces) return pieces.error();
    if (pieces->empty() || pattern.starts_with('-'))
        return Error{fmt::format("{}: expected a name, without a dash at its beginning", shown_pattern(pattern))};
    if (auto fits = check_size(pattern, *pieces, most); !fits) return fits.error();
    std::vector<std::string> names{""};
    for (const Piece& piece : *pieces) {
        for (std::string& name : names) name += piece.text;
        if (!piece.ranges.empty()) names = each_with_each(names, piece.ranges);
    }
    return names;
}

bool is_host_name(std::string_view text) {
    return !text.empty() && text.size() <= kMostHostNameBytes && text[0] != '-' &&
           std::ranges::all_of(text, is_name_character);
}

std::string shown_pattern(std::string_view text) {
    constexpr std::size_t kMost = 200;
    return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost - 3)) + "...";
}

}  // namespace dlaunch::launcher
