#include "agent/process/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "agent/process/leftovers.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;
using Milliseconds = std::chrono::milliseconds;

/// The mount point of cgroup v2, alone or beside v1 (systemd's hybrid layout).
std::string mount_point() {
    for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        struct statfs about {};
        if (statfs(place, &about) == 0 && about.f_type == CGROUP2_SUPER_MAGIC) return place;
    }
    return {};
}

void write_kill(const std::string& folder) {
    UniqueFd file(open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (file && write(file.get(), "1", 1) < 0) return;  // a removed cgroup has no processes
}

std::vector<std::string> subfolders(const std::string& folder) {
    std::vector<std::string> found;
    DIR* entries = opendir(folder.c_str());
    if (!entries) return found;
    while (const dirent* entry = readdir(entries))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') found.push_back(folder + "/" + entry->d_name);
    closedir(entries);
    return found;
}

/// Waits until the cgroup is empty. A change of cgroup.events raises POLLPRI.
void await_empty(const std::string& folder, Milliseconds deadline) {
    UniqueFd events(open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (events) {
        char text[256];
        const ssize_t got = pread(events.get(), text, sizeof text - 1, 0);
        if (got <= 0) return;
        text[got] = 0;
        if (!std::strstr(text, "populated 1")) return;
        const auto left = std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0) return;
        pollfd what{events.get(), POLLPRI, 0};
        poll(&what, 1, static_cast<int>(left.count()));
    }
}

std::string path_of(const std::string& folder, int round, int local_rank) {
    return folder + "/" + std::to_string(round) + "-" + std::to_string(local_rank);
}

/// Removes subfolders, too: a worker may have been a dlaunch with cgroups of its own. Looks for them only where there
/// are some, which takes most of the time.
void remove_cgroup(const std::string& folder) {
    if (rmdir(folder.c_str()) == 0) return;
    for (const auto& below : subfolders(folder)) remove_cgroup(below);
    rmdir(folder.c_str());
}

/// The folder of the cgroup v2 of /proc/`process`.
std::string cgroup_folder_of(const std::string& process) {
    const std::string mounted = mount_point();
    if (mounted.empty()) return {};
    const std::string text = base::text_of("/proc/" + process + "/cgroup");
    const std::size_t line = text.rfind("0::/");
    if (line == std::string::npos || (line != 0 && text[line - 1] != '\n')) return {};
    std::string path = text.substr(line + 3, text.find('\n', line) - line - 3);
    return path == "/" ? mounted : mounted + path;
}

}  // namespace

std::string own_cgroup_folder() { return cgroup_folder_of("self"); }

void kill_cgroup(const std::string& folder, Milliseconds deadline) {
    if (folder.empty() || access(folder.c_str(), F_OK) != 0) return;
    write_kill(folder);
    await_empty(folder, deadline);
}

void kill_and_remove_cgroup(const std::string& folder, Milliseconds deadline) {
    if (folder.empty() || access(folder.c_str(), F_OK) != 0) return;
    kill_cgroup(folder, deadline);
    remove_cgroup(folder);
}

WorkerCgroups::WorkerCgroups(bool enabled) {
    if (!enabled) return;
    folder_ = own_cgroup_folder();
    if (folder_.empty()) return;
    // The time distinguishes the folder from one left by an earlier process with the same pid.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    folder_ += "/dlaunch-" + std::to_string(getpid()) + "-" + std::to_string(now);
}

void WorkerCgroups::make() {
    if (folder_.empty()) return;
    if (mkdir(folder_.c_str(), 0755) == 0) lock_ = hold_folder(folder_);
    if (!lock_ || access((folder_ + "/cgroup.kill").c_str(), W_OK) != 0) return give_up();
    const UniqueFd first = open_worker(0, 0);
    if (!first) return give_up();
    probe_ = std::make_unique<BirthProbe>(first.get());
}

void WorkerCgroups::finish_making() {
    const auto probe = std::exchange(probe_, nullptr);
    if (!probe) return;
    if (!probe->succeeded()) return give_up();
    // Works only if the memory controller was delegated to this user.
    UniqueFd control(open((folder_ + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC));
    counts_memory_ = control && write(control.get(), "+memory", 7) == 7;
}

void WorkerCgroups::give_up() {
    remove_cgroup(folder_);
    lock_.reset();
    folder_.clear();
}

std::string WorkerCgroups::worker_folder(int round, int local_rank) const {
    return counts_memory_ ? path_of(folder_, round, local_rank) : std::string();
}

UniqueFd WorkerCgroups::open_worker(int round, int local_rank) {
    if (folder_.empty()) return {};
    const std::string path = path_of(folder_, round, local_rank);
    mkdir(path.c_str(), 0755);
    return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::optional<int> WorkerCgroups::local_rank_of(pid_t pid, int round) const {
    if (folder_.empty()) return std::nullopt;
    const std::string begin = folder_ + "/" + std::to_string(round) + "-";
    const std::string folder = cgroup_folder_of(std::to_string(pid));
    int local_rank = 0;
    if (!folder.starts_with(begin) || std::sscanf(folder.c_str() + begin.size(), "%d", &local_rank) != 1)
        return std::nullopt;
    return local_rank;
}

void WorkerCgroups::kill_all() {
    if (!folder_.empty()) write_kill(folder_);
}

void WorkerCgroups::end_round() {
    for (const auto& below : subfolders(folder_)) remove_cgroup(below);
}

void WorkerCgroups::remove() {
    probe_.reset();
    if (!folder_.empty()) remove_cgroup(folder_);
}

}  // namespace dlaunch::agent
