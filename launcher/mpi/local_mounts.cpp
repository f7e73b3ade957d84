#include "launcher/mpi/local_mounts.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::array<std::string_view, 12> kLocal{"ext2", "ext3",  "ext4",  "xfs",     "btrfs",    "zfs",
                                                  "f2fs", "tmpfs", "ramfs", "overlay", "squashfs", "erofs"};

// Fields of a line, see proc(5): some optional ones and a dash come between the place and the type.
constexpr std::size_t kPlace = 4, kFirstOptional = 6;

/// Blanks and backslashes of a path are written as \040 and the like.
std::string unescaped(std::string_view text) {
    constexpr std::size_t kDigits = 3;
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::string_view digits = text.substr(at + 1, kDigits);
        const bool is_code = text[at] == '\\' && digits.size() == kDigits &&
                             std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
        if (!is_code) {
            plain += text[at];
            continue;
        }
        plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
        at += kDigits;
    }
    return plain;
}

bool is_below(std::string_view path, std::string_view place) {
    if (place == "/") return path.starts_with('/');
    return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

}  // namespace

LocalMounts::LocalMounts(std::string_view mountinfo) {
    for (std::string_view line : split(mountinfo, '\n')) {
        const std::vector<std::string_view> fields = split(line, ' ');
        if (fields.size() <= kFirstOptional) continue;
        const auto dash = std::find(fields.begin() + kFirstOptional, fields.end(), std::string_view("-"));
        if (fields.end() - dash < 2) continue;
        is_local_[unescaped(fields[kPlace])] = std::ranges::find(kLocal, dash[1]) != kLocal.end();
    }
}

std::optional<std::string> LocalMounts::local_place_of(std::string_view path) const {
    std::optional<std::string> deepest;
    for (const auto& [place, is_local] : is_local_) {  // in this order a place comes before those below it
        if (!is_below(path, place)) continue;
        if (!is_local) return std::nullopt;
        deepest = place;
    }
    return deepest;
}

}  // namespace dlaunch::launcher
