#include "agent/process/sweep.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>

#include "agent/process/pidfd.hpp"
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

/// Without CONFIG_PROC_CHILDREN: all processes by parent.
std::multimap<pid_t, pid_t> processes_by_parent() {
    std::multimap<pid_t, pid_t> found;
    each_number_in("/proc", [&](pid_t pid) {
        if (const auto stat = stat_of(pid)) found.emplace(stat->parent, pid);
    });
    return found;
}

/// Waits until `pid` has exited, at most `limit`.
void await_end(pid_t pid, std::chrono::milliseconds limit) {
    if (limit.count() <= 0) return;
    const UniqueFd pidfd = open_pidfd(pid);
    pollfd what{pidfd.get(), POLLIN, 0};
    poll(&what, 1, static_cast<int>(limit.count()));
}

/// True: there was one.
bool reap_all() {
    bool any = false;
    while (waitpid(-1, nullptr, WNOHANG) > 0) any = true;
    return any;
}

/// A subreaper without children has no descendants.
bool has_children() {
    siginfo_t ended;
    return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/// Without /proc, which has the largest pid, too: tests every pid for being a child. Takes one to three seconds.
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

struct Descendant {
    pid_t pid = 0, parent = 0;
};

/// Breadth first: parents precede their children.
std::vector<Descendant> descendants_of(pid_t ancestor, std::span<const pid_t> spared) {
    std::vector<Descendant> found{{ancestor, 0}};
    const auto add = [&](pid_t child, pid_t parent) {
        if (std::find(spared.begin(), spared.end(), child) == spared.end()) found.push_back({child, parent});
    };
    if (!proc_is_ours()) {
        if (ancestor == getpid())
            for (pid_t child : children_by_number(spared)) add(child, ancestor);
    } else {
        const std::string self = std::to_string(getpid());
        const bool lists_children = access(("/proc/self/task/" + self + "/children").c_str(), R_OK) == 0;
        std::multimap<pid_t, pid_t> parents;
        if (!lists_children) parents = processes_by_parent();
        for (std::size_t next = 0; next < found.size(); ++next) {
            const pid_t parent = found[next].pid;
            if (lists_children) {
                for (pid_t child : children_of(parent)) add(child, parent);
            } else {
                for (auto [at, end] = parents.equal_range(parent); at != end; ++at) add(at->second, parent);
            }
        }
    }
    found.erase(found.begin());
    return found;
}

/// False for zombies. Without /proc every unreaped child counts as living.
bool lives(pid_t pid) {
    if (!proc_is_ours()) return true;
    const auto stat = stat_of(pid);
    return stat && stat->state != 'Z' && stat->state != 'X';
}

std::vector<Descendant> living_below(pid_t ancestor, std::span<const pid_t> spared) {
    std::vector<Descendant> found = descendants_of(ancestor, spared);
    std::erase_if(found, [](const Descendant& descendant) { return !lives(descendant.pid); });
    return found;
}

/// The descendant may have exited since it was found, and its pid may be reused. Therefore only a child of the recorded
/// parent or, as an orphan, of `ancestor` or this process is killed. The pidfd, opened before that check, makes the
/// signal reach the checked process only.
void kill_if_still_below(const Descendant& descendant, pid_t ancestor) {
    if (descendant.parent == getpid()) {  // an unreaped child keeps its pid
        ::kill(descendant.pid, SIGKILL);
        return;
    }
    const UniqueFd process = open_pidfd(descendant.pid);
    const auto stat = stat_of(descendant.pid);
    if (!stat) return;
    const auto parents = {descendant.parent, ancestor, getpid()};
    if (std::find(parents.begin(), parents.end(), stat->parent) == parents.end()) return;
    send_signal(process, descendant.pid, SIGKILL);
}

std::vector<Descendant> kill_living_below(pid_t ancestor, std::span<const pid_t> spared) {
    std::vector<Descendant> living = living_below(ancestor, spared);
    for (const Descendant& descendant : living) kill_if_still_below(descendant, ancestor);
    return living;
}

}  // namespace

std::vector<pid_t> descendants(std::span<const pid_t> spared) {
    std::vector<pid_t> found;
    if (!has_children()) return found;
    for (const Descendant& descendant : descendants_of(getpid(), spared)) found.push_back(descendant.pid);
    return found;
}

std::vector<Swept> survey(std::span<const pid_t> spared) {
    std::vector<Swept> found;
    if (!has_children()) return found;
    const bool has_names = proc_is_ours();
    for (const Descendant& descendant : living_below(getpid(), spared)) {
        const pid_t pid = descendant.pid;
        std::string name = has_names ? base::text_of("/proc/" + std::to_string(pid) + "/comm") : "?";
        while (!name.empty() && name.back() == '\n') name.pop_back();
        if (!name.empty()) found.push_back({pid, std::move(name)});
    }
    return found;
}

std::size_t kill_descendants(std::span<const pid_t> spared) {
    return has_children() ? kill_living_below(getpid(), spared).size() : 0;
}

bool sweep(std::chrono::milliseconds deadline, std::span<const pid_t> spared) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + deadline;
    for (;;) {
        reap_all();
        const auto now = Clock::now();
        if (!has_children()) return true;
        if (now >= end) return living_below(getpid(), spared).empty();
        const std::vector<Descendant> left = kill_living_below(getpid(), spared);
        // A parent that ended during the look may have left it a child that is not among the ancestor's yet.
        if (left.empty() && !reap_all()) return true;
        const auto soon = std::min(end, now + std::chrono::milliseconds(50));
        for (const Descendant& descendant : left)  // all of them, because another look is expensive without /proc
            await_end(descendant.pid, std::chrono::duration_cast<std::chrono::milliseconds>(soon - Clock::now()));
    }
}

void kill_below(pid_t ancestor, std::chrono::milliseconds deadline, const std::function<bool()>& may_continue) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + deadline;
    // Two looks in a row, as a parent that ended during the first one may have left a child to the ancestor.
    for (int empty = 0; may_continue();) {
        if (!proc_is_ours()) return;  // without a known parent a pid may be that of an unrelated process
        const std::vector<Descendant> left = living_below(ancestor, {});
        const auto now = Clock::now();
        if (now >= end) return;
        empty = left.empty() ? empty + 1 : 0;
        if (empty == 2) return;
        if (empty > 0) continue;
        for (const Descendant& descendant : left) kill_if_still_below(descendant, ancestor);
        await_end(left.front().pid, std::min(std::chrono::duration_cast<std::chrono::milliseconds>(end - now),
                                             std::chrono::milliseconds(50)));
    }
}

void become_subreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

}  // namespace dlaunch::agent
