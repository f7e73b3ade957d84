#include "agent/process/sweep.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

#include "agent/process/proc.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;

template <class Visit>
void each_number_in(const std::string& folder, Visit visit) {
    DIR* entries = opendir(folder.c_str());
    if (!entries) return;
    while (const dirent* entry = readdir(entries))
        if (const auto number = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); number > 0) visit(number);
    closedir(entries);
}

std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> found;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    each_number_in(tasks, [&](pid_t task) {
        const std::string text = base::text_of(tasks + "/" + std::to_string(task) + "/children");
        for (const char* at = text.c_str(); *at;) {
            char* end = nullptr;
            const long number = std::strtol(at, &end, 10);
            if (end == at) break;
            if (number > 0) found.push_back(static_cast<pid_t>(number));
            at = *end ? end + 1 : end;
        }
    });
    return found;
}

/// The way without CONFIG_PROC_CHILDREN: every process there is, by its parent.
std::multimap<pid_t, pid_t> processes_by_parent() {
    std::multimap<pid_t, pid_t> found;
    each_number_in("/proc", [&](pid_t pid) {
        if (const auto stat = stat_of(pid)) found.emplace(stat->parent, pid);
    });
    return found;
}

/// Waits until `pid` has ended, at most `limit`.
void await_end(pid_t pid, std::chrono::milliseconds limit) {
    if (limit.count() <= 0) return;
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    pollfd what{pidfd.get(), POLLIN, 0};
    poll(&what, 1, static_cast<int>(limit.count()));
}

void reap_all() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {}
}

/// As we are a subreaper, who has no child has no descendant.
bool has_children() {
    siginfo_t ended;
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/// The way without /proc: the kernel tells of every number whether it is a child of ours. Takes most of a second.
std::vector<pid_t> children_by_number(std::span<const pid_t> spared) {
    constexpr pid_t kMostNumbers = 4 << 20;  // the kernel's own limit
    std::vector<pid_t> found;
    for (pid_t pid = 1; pid < kMostNumbers; ++pid) {
        siginfo_t info;
        const bool is_child = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
        if (is_child && std::find(spared.begin(), spared.end(), pid) == spared.end()) found.push_back(pid);
    }
    return found;
}

std::vector<pid_t> descendants_of(pid_t ancestor, std::span<const pid_t> spared) {
    if (!proc_is_ours()) return ancestor == getpid() ? children_by_number(spared) : std::vector<pid_t>{};
    const std::string self = std::to_string(getpid());
    const bool lists_children = access(("/proc/self/task/" + self + "/children").c_str(), R_OK) == 0;
    std::multimap<pid_t, pid_t> parents;
    if (!lists_children) parents = processes_by_parent();
    std::vector<pid_t> found{ancestor};
    auto add = [&](pid_t child) {
        if (std::find(spared.begin(), spared.end(), child) == spared.end()) found.push_back(child);
    };
    for (std::size_t next = 0; next < found.size(); ++next) {
        if (lists_children) {
            for (pid_t child : children_of(found[next])) add(child);
        } else {
            for (auto [at, end] = parents.equal_range(found[next]); at != end; ++at) add(at->second);
        }
    }
    found.erase(found.begin());
    return found;
}

/// Not dead, nor a zombie that waits for its parent.
bool lives(pid_t pid) {
    const auto stat = stat_of(pid);
    return stat && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace

std::vector<pid_t> descendants(std::span<const pid_t> spared) {
    return has_children() ? descendants_of(getpid(), spared) : std::vector<pid_t>();
}

std::vector<Swept> survey(std::span<const pid_t> spared) {
    std::vector<Swept> found;
    const bool has_names = proc_is_ours();
    reap_all();
    for (pid_t pid : descendants(spared)) {
        std::string name = has_names ? base::text_of("/proc/" + std::to_string(pid) + "/comm") : "?";
        while (!name.empty() && name.back() == '\n') name.pop_back();
        if (!name.empty()) found.push_back({pid, std::move(name)});
    }
    return found;
}

bool sweep(std::chrono::milliseconds deadline, std::span<const pid_t> spared) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + deadline;
    for (;;) {
        reap_all();
        const std::vector<pid_t> left = descendants(spared);
        const auto now = Clock::now();
        if (left.empty() || now >= end) return left.empty();
        for (pid_t pid : left) kill(pid, SIGKILL);
        const auto soon = std::min(end, now + std::chrono::milliseconds(50));
        for (pid_t pid : left)  // all of them: to look again is dear without /proc
            await_end(pid, std::chrono::duration_cast<std::chrono::milliseconds>(soon - Clock::now()));
    }
}

void kill_below(pid_t ancestor, std::chrono::milliseconds deadline, const std::function<bool()>& goes_on) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + deadline;
    while (goes_on()) {
        std::vector<pid_t> left = descendants_of(ancestor, {});
        std::erase_if(left, [](pid_t pid) { return !lives(pid); });
        const auto now = Clock::now();
        if (left.empty() || now >= end) return;
        for (pid_t pid : left) kill(pid, SIGKILL);
        await_end(left.front(), std::min(std::chrono::duration_cast<std::chrono::milliseconds>(end - now),
                                         std::chrono::milliseconds(50)));
    }
}

void become_subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace dlaunch::agent
