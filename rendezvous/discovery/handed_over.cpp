#include "rendezvous/discovery/handed_over.hpp"

#include <fmt/format.h>

#include <charconv>

#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::string_view kLine = "\nrecord ";

std::optional<std::string> from_hex(std::string_view digits) {
    std::string bytes;
    for (; digits.size() >= 2; digits.remove_prefix(2)) {
        unsigned byte = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
        if (error != std::errc() || end != digits.data() + 2) return std::nullopt;
        bytes += static_cast<char>(byte);
    }
    if (!digits.empty()) return std::nullopt;
    return bytes;
}

}  // namespace

std::string record_line(std::int64_t at_ms, std::string_view snapshot) {
    std::string line = fmt::format("record {} ", at_ms);
    for (const char byte : snapshot) line += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return line + "\n";
}

std::optional<HandedOver> handed_over_in(std::string_view claim) {
    const std::size_t at = claim.find(kLine);
    if (at == std::string_view::npos || !claim.ends_with('\n')) return std::nullopt;
    std::string_view line = claim.substr(at + kLine.size());
    line.remove_suffix(1);
    HandedOver found;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), found.at_ms);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (error != std::errc() || !line.starts_with(' ')) return std::nullopt;
    const auto bytes = from_hex(line.substr(1));
    auto snapshot = bytes ? wire::decode_snapshot(*bytes) : std::nullopt;
    if (!snapshot) return std::nullopt;
    found.snapshot = std::move(*snapshot);
    return found;
}

}  // namespace dlaunch::rendezvous
