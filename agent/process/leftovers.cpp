#include "agent/process/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "agent/process/cgroup.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

constexpr auto kOneCgroup = Milliseconds(100);  // for the death of its processes

UniqueFd open_folder(const std::string& path) {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool lock(const UniqueFd& folder) { return folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

/// Visits the names in a folder until `end`.
void for_each_name(const std::string& folder, Clock::time_point end,
                   const std::function<void(std::string_view)>& call) {
    const Directory entries(opendir(folder.c_str()), closedir);
    if (!entries) return;
    while (const dirent* entry = readdir(entries.get())) {
        if (Clock::now() >= end) return;
        call(entry->d_name);
    }
}

/// Whether dlaunch-PID-TIME (monotonic clock) is old enough, and PID is not a living process: that spares a cgroup even
/// if its lock is free.
bool is_left_cgroup(std::string_view name, Milliseconds age) {
    constexpr std::string_view kBegin = "dlaunch-";
    if (!name.starts_with(kBegin)) return false;
    const char* const end = name.data() + name.size();
    pid_t agent = 0;
    std::int64_t made = 0;
    const auto [dash, no_pid] = std::from_chars(name.data() + kBegin.size(), end, agent);
    if (no_pid != std::errc() || dash == end || *dash != '-') return false;
    const auto [rest, no_time] = std::from_chars(dash + 1, end, made);
    if (no_time != std::errc() || rest != end) return false;
    const bool gone = agent > 0 && kill(agent, 0) != 0 && errno == ESRCH;
    return gone && Clock::now() - Clock::time_point(Clock::duration(made)) >= age;
}

bool is_ours(const UniqueFd& folder) {
    struct stat about {};
    return fstat(folder.get(), &about) == 0 && about.st_uid == geteuid();
}

void sweep_cgroup(const std::string& path) {
    const UniqueFd folder = open_folder(path);
    if (folder && is_ours(folder) && lock(folder)) kill_and_remove_cgroup(path, kOneCgroup);
}

/// dlaunch_XXXXXX (error files) or dlaunch-agent-XXXXXX (status socket).
bool has_temporary_name(std::string_view name) {
    for (const std::string_view begin : {"dlaunch_", "dlaunch-agent-"})
        if (name.starts_with(begin) && name.size() == begin.size() + 6) return true;
    return false;
}

bool is_old(const UniqueFd& folder, Milliseconds age) {
    struct stat about {};
    if (fstat(folder.get(), &about) != 0 || (about.st_mode & 0777) != 0700) return false;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const auto seconds = std::chrono::seconds(now.tv_sec - about.st_mtim.tv_sec) +
                         std::chrono::nanoseconds(now.tv_nsec - about.st_mtim.tv_nsec);
    return seconds >= age;
}

/// Whether runs create a file of this name. A folder with any other file is not removed, as it may hold kept logs.
bool is_file_of_ours(std::string_view name) {
    return name == "socket" || (name.starts_with("error_") && name.ends_with(".json"));
}

void sweep_temporary(const std::string& path, Milliseconds age) {
    const UniqueFd folder = open_folder(path);
    if (!folder || !is_ours(folder) || !is_old(folder, age) || !lock(folder)) return;
    std::vector<std::string> files;
    bool only_ours = true;
    for_each_name(path, Clock::time_point::max(), [&](std::string_view name) {
        if (name == "." || name == "..") return;
        only_ours = only_ours && is_file_of_ours(name);
        files.emplace_back(name);
    });
    if (!only_ours) return;
    for (const std::string& file : files) unlinkat(folder.get(), file.c_str(), 0);
    rmdir(path.c_str());
}

/// dlaunch-logs.XXXXXX: log files on their way to the front end.
bool has_logs_name(std::string_view name) {
    constexpr std::string_view kBegin = "dlaunch-logs.";
    return name.starts_with(kBegin) && name.size() == kBegin.size() + 6;
}

/// dlaunch-mpi-0123456789abcdef: files of a PMIx server and its ranks, under names of their own.
bool has_session_name(std::string_view name) {
    constexpr std::string_view kBegin = "dlaunch-mpi-";
    constexpr std::size_t kDigits = 16;
    return name.starts_with(kBegin) && name.size() == kBegin.size() + kDigits &&
           name.find_first_not_of("0123456789abcdef", kBegin.size()) == std::string_view::npos;
}

/// A folder whose files may have any names.
void sweep_whole(const std::string& path, Milliseconds age) {
    const UniqueFd folder = open_folder(path);
    if (!folder || !is_ours(folder) || !is_old(folder, age) || !lock(folder)) return;
    std::error_code kept;
    std::filesystem::remove_all(path, kept);
}

}  // namespace

UniqueFd hold_folder(const std::string& path) {
    UniqueFd folder = open_folder(path);
    if (!lock(folder)) folder.reset();
    return folder;
}

void sweep_leftovers(const LeftoverPlaces& places, Milliseconds age, Milliseconds patience) {
    const auto end = Clock::now() + patience;
    if (!places.cgroups.empty())
        for_each_name(places.cgroups, end, [&](std::string_view name) {
            if (is_left_cgroup(name, age)) sweep_cgroup(places.cgroups + "/" + std::string(name));
        });
    for_each_name(places.temporary, end, [&](std::string_view name) {
        const std::string path = places.temporary + "/" + std::string(name);
        if (has_temporary_name(name)) sweep_temporary(path, age);
        if (has_session_name(name) || has_logs_name(name)) sweep_whole(path, age);
    });
    if (!places.memory.empty())
        for_each_name(places.memory, end, [&](std::string_view name) {
            if (has_session_name(name)) sweep_whole(places.memory + "/" + std::string(name), age);
        });
}

void LeftoverSweep::begin_soon() {
    delay_ = loop_.after(std::chrono::seconds(1), [this] {
        const LeftoverPlaces places{own_cgroup_folder(), temporary_, "/dev/shm"};
        sweeping_ = base::Background(loop_, [places]() -> std::function<void()> {
            sweep_leftovers(places, std::chrono::seconds(10), std::chrono::seconds(1));
            return nullptr;
        });
    });
}

}  // namespace dlaunch::agent
