#include "agent/errors/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "agent/errors/format.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

/// File names of one version of cgroups.
struct Version {
    const char* counter;
    const char* limit;
};
constexpr std::array<Version, 2> kVersions{
    {{"/memory.events", "/memory.max"}, {"/memory.oom_control", "/memory.limit_in_bytes"}}};

/// In version 1 "no limit" is the largest number of whole pages.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Calls `visit` with every line, until it returns true.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (visit(text.substr(0, end))) return;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

bool has_word(std::string_view list, std::string_view word) {
    for (std::string_view field : base::split(list, ','))
        if (field == word) return true;
    return false;
}

/// mountinfo escapes blanks as \040.
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        int code = 0;
        if (text[at] == '\\' && at + 3 < text.size() &&
            std::from_chars(&text[at + 1], &text[at] + 4, code, 8).ptr == &text[at] + 4) {
            out += static_cast<char>(code);
            at += 3;
        } else {
            out += text[at];
        }
    }
    return out;
}

/// The cgroup that counts this process's memory: its path in version 1's memory hierarchy, else in version 2's.
struct Membership {
    bool version1 = false;
    std::string path;
};

std::optional<Membership> membership(const std::string& root) {
    std::optional<Membership> found;
    each_line(base::text_of(root + "/proc/self/cgroup"), [&](std::string_view line) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) return false;
        const bool version1 = has_word(line.substr(first + 1, second - first - 1), "memory");
        const bool version2 = line.starts_with("0::");
        if (version1 || version2) found = Membership{version1, std::string(line.substr(second + 1))};
        return version1;
    });
    return found;
}

/// A cgroup's folder: the mount point, and the path relative to the mounted part of the hierarchy.
struct Place {
    std::string mount, path;
};

std::optional<Place> place_of(const Membership& member, const std::string& root) {
    std::optional<Place> place;
    each_line(base::text_of(root + "/proc/self/mountinfo"), [&](std::string_view line) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string_view::npos) return false;
        const auto about = base::split(line.substr(0, dash), ' '), kind = base::split(line.substr(dash + 3), ' ');
        if (about.size() < 5 || kind.size() < 3) return false;
        if (member.version1 ? kind[0] != "cgroup" || !has_word(kind[2], "memory") : kind[0] != "cgroup2") return false;
        const std::string top = unescaped(about[3]);
        std::string path = member.path;
        // A container's mount shows only the container's part of the hierarchy.
        if (top != "/") path = path == top || path.starts_with(top + "/") ? path.substr(top.size()) : "";
        if (path == "/" || path.starts_with("/..")) path.clear();
        place = Place{root + unescaped(about[4]), path};
        return true;
    });
    return place;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

const Version* version_of(const std::string& folder) {
    for (const Version& version : kVersions)
        if (exists(folder + version.counter)) return &version;
    return nullptr;
}

std::string parent(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

}  // namespace

OomCounter OomCounter::of_folder(const std::string& folder) {
    OomCounter counter;
    if (const Version* version = version_of(folder)) {
        counter.folder_ = folder;
        counter.file_ = folder + version->counter;
    }
    return counter;
}

OomCounter OomCounter::of_this_process(const std::string& root) {
    if (const auto member = membership(root)) {
        if (const auto place = place_of(*member, root)) {
            for (std::string path = place->path;; path = parent(path)) {
                OomCounter counter = of_folder(place->mount + path);
                if (counter.read() >= 0) return counter;
                if (path.empty()) break;
            }
        }
    }
    OomCounter machine;
    machine.file_ = root + "/proc/vmstat";
    return machine;
}

std::int64_t OomCounter::read() const {
    std::int64_t kills = -1;
    if (file_.empty()) return kills;
    each_line(base::text_of(file_), [&](std::string_view line) {
        constexpr std::string_view kName = "oom_kill ";
        if (!line.starts_with(kName)) return false;
        kills = number(line.substr(kName.size())).value_or(-1);
        return true;
    });
    return kills;
}

std::string OomCounter::limit() const {
    std::int64_t least = kUnlimited;
    for (std::string folder = folder_; !folder.empty(); folder = parent(folder)) {
        const Version* version = version_of(folder);
        if (!version) break;
        const auto limit = number(base::text_of(folder + version->limit));
        if (limit && *limit < least) least = *limit;
    }
    return least == kUnlimited ? "" : size_text(static_cast<double>(least));
}

OutOfMemory judge_out_of_memory(const OomReading& before, const OomReading& after) {
    if (before.own >= 0 && after.own >= 0) return after.own > before.own ? OutOfMemory::certain : OutOfMemory::no;
    return before.near >= 0 && after.near > before.near ? OutOfMemory::likely : OutOfMemory::no;
}

}  // namespace dlaunch::agent
