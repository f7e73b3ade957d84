#include "rendezvous/store/server/kept_bytes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "rendezvous/base/files.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::store {
namespace {

constexpr std::size_t kShareOfMemory = 8;
constexpr std::size_t kLeast = 32 << 20;  // some of the largest values
constexpr std::size_t kMost = 1 << 30;

/// The number at the start of a text; SIZE_MAX: none, as in a file that is missing or says "max".
std::size_t number(std::string_view text) {
    std::size_t value = SIZE_MAX;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::size_t machine_bytes(const std::string& root) {
    const std::string text = base::text_of(root + "/proc/meminfo");
    constexpr std::string_view kTotal = "MemTotal:";
    const std::size_t at = text.find(kTotal);
    if (at == std::string::npos) return SIZE_MAX;
    const std::size_t kib = number(base::trimmed(std::string_view(text).substr(at + kTotal.size())));
    return kib > SIZE_MAX / 1024 ? SIZE_MAX : kib * 1024;
}

/// A container's mount may lack the upper folders of a cgroup's path. Its own limit is at the mount point then, which
/// is visited, too.
std::size_t lowest_limit(const std::string& mount, std::string path, const char* name) {
    std::size_t lowest = SIZE_MAX;
    for (;; path.resize(path.rfind('/'))) {
        lowest = std::min(lowest, number(base::text_of(mount + path + name)));
        if (path.find('/') == std::string::npos) return lowest;
    }
}

std::size_t cgroup_bytes(const std::string& root) {
    std::size_t lowest = SIZE_MAX;
    const std::string text = base::text_of(root + "/proc/self/cgroup");
    for (const std::string_view line : base::split(text, '\n')) {
        const auto fields = base::split(line, ':');
        if (fields.size() < 3) continue;
        const std::string path(line.substr(line.find(':', line.find(':') + 1) + 1));
        if (line.starts_with("0::"))
            lowest = std::min(lowest, lowest_limit(root + "/sys/fs/cgroup", path, "/memory.max"));
        if (fields[1] == "memory")
            lowest = std::min(lowest, lowest_limit(root + "/sys/fs/cgroup/memory", path, "/memory.limit_in_bytes"));
    }
    return lowest;
}

}  // namespace

std::size_t usual_kept_bytes(const std::string& root) {
    return std::clamp(std::min(machine_bytes(root), cgroup_bytes(root)) / kShareOfMemory, kLeast, kMost);
}

}  // namespace dlaunch::store
