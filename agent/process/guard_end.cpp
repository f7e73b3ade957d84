// The guard's actions after the agent's exit, and with a coordinator only.

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "agent/process/cgroup.hpp"
#include "agent/process/guard_process.hpp"
#include "agent/process/print_within.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kSweepDeadline = 5000ms;
constexpr auto kMayTakeToPrint = 5000ms;
constexpr auto kHandOver = 5000ms;    // for a coordinator to release its claim after SIGTERM
constexpr auto kDelivery = 60'000ms;  // upper bound; the coordinator itself gives up delivering much earlier
constexpr auto kSoonDead = 10'000ms;  // an agent that lives shorter ...
constexpr int kSoonDeadInARow = 3;    // ... more often in a row is not restarted

/// Removes a folder of plain files, left by an agent that was killed.
void remove_flat_folder(const char* folder) {
    DIR* entries = opendir(folder);
    if (!entries) return;
    while (const dirent* entry = readdir(entries)) unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
}

}  // namespace

/// True: none lives.
bool Guard::kill_workers() {
    const bool agent_is_left = std::ranges::find(strangers, agent) != strangers.end();
    kill_and_remove_cgroup(cgroup, kSweepDeadline);
    if (agent_is_left) kill_below(agent, kSweepDeadline, [] { return true; });
    return sweep(kSweepDeadline, strangers);
}

std::string Guard::last_text() const {
    if (agent_ends) return announced_text.empty() ? "" : "dlaunch: " + announced_text + "\n";
    if (!WIFSIGNALED(status)) return {};
    char line[160];
    if (ended_by)
        std::snprintf(line, sizeof line, "dlaunch: SIG%s received, ending\n", sigabbrev_np(ended_by));
    else
        std::snprintf(line, sizeof line,
                      "dlaunch: the agent (pid %d) was killed by signal %d (%s); every worker was killed\n", agent,
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    return line;
}

void Guard::look_after_coordinator() {
    const pid_t before = coordinator.pid();
    coordinator.look(base::Clock::now(), {socket, signals, connection});
    if (coordinator.pid() && coordinator.pid() != before) strangers.push_back(coordinator.pid());
}

bool Guard::agent_was_killed() const { return WIFSIGNALED(status) && !agent_ends; }

/// Whether to restart the agent: if this guard's coordinator lives, the node rejoins, and the death costs the job one
/// round.
bool Guard::starts_agent_again() {
    if (!coordinator.is_seated() || !agent_was_killed() || ended_by || !agent_ready || coordinator.page().is_over)
        return false;
    agent_deaths = base::Clock::now() - agent_began < kSoonDead ? agent_deaths + 1 : 1;
    return agent_deaths <= kSoonDeadInARow;
}

/// Kills first and prints last: stderr may have no reader, and workers must not live on because of that.
void Guard::clean_up_after_agent(bool returns) {
    const bool killed = agent_was_killed();
    const bool none_lives = kill_workers();
    if (returns && !goodbye.empty()) goodbye = wire::encode(rendezvous::Gone{.returns = true});
    close_connection(none_lives);
    if (killed && modes) {  // a worker may have had the terminal and changed its modes
        tcsetpgrp(STDIN_FILENO, getpgrp());
        tcsetattr(STDIN_FILENO, TCSANOW, modes);
    }
    for (const std::string& folder : folders) remove_flat_folder(folder.c_str());
    print_within(kMayTakeToPrint, STDERR_FILENO, last_text());
}

void Guard::forget_agent() {
    if (connection >= 0) close(connection);
    close(socket);
    connection = socket = -1;
    agent = 0;
    agent_ready = agent_ends = has_lease = false;
    cgroup.clear();
    folders.clear();
    goodbye.clear();
}

void Guard::turn() {
    pollfd what[] = {{signals, POLLIN, 0}, {socket, POLLIN, 0}};
    poll(what, 2, patience());
    if (what[1].revents & POLLIN) read_messages();
    if (what[0].revents & POLLIN) pass_signals();
    collect();
    look_after_coordinator();
    // The link to a dead agent stays readable. Without this poll() would spin until the agent is reaped.
    if (what[1].revents & (POLLHUP | POLLERR)) socket = -1;
}

/// Runs until the agent has exited.
void Guard::watch_agent() {
    const int link = socket;
    while (agent_alive) {
        turn();
        if (agent_alive) fence();
        if (agent_alive) stop_waiting_for_agent();
    }
    socket = link;
    read_messages();  // the agent may have named its cgroup just before it died
    if (agent_was_killed() && !agent_ready && std::ranges::find(kEndAtOnce, WTERMSIG(status)) != std::end(kEndAtOnce))
        ended_by = WTERMSIG(status);
}

/// Runs without an agent until the job is over or the coordinator has given up.
void Guard::watch_coordinator() {
    const int job_status = WEXITSTATUS(status);
    forget_agent();
    look_after_coordinator();
    while (coordinator.is_seated()) turn();
    if (coordinator.page().is_over) _exit(coordinator.page().status);
    if (end_signal) _exit(exit_status::kSignalBase + end_signal);
    _exit(job_status ? job_status : exit_status::kCoordinatorLost);
}

/// Waits for a coordinator that is delivering the verdict. Else makes it hand its claim over, or, at a fixed place,
/// kills it.
void Guard::end_coordinator() {
    if (!coordinator.is_seated()) return;
    look_after_coordinator();
    const bool is_over = coordinator.page().is_over;
    if (!is_over && coordinator.page().hands_over) coordinator.signal(SIGTERM);
    if (!is_over && !coordinator.page().hands_over) return coordinator.give_up();
    const base::Time end = base::Clock::now() + (is_over ? kDelivery : kHandOver);
    agent_alive = false;
    while (coordinator.is_seated() && base::Clock::now() < end) {
        pollfd what{signals, POLLIN, 0};
        poll(&what, 1, std::clamp(patience(), 1, 100));
        sigset_t seen;
        sigemptyset(&seen);
        if (drain_signals(seen)) break;  // a further request to end
        collect();
        look_after_coordinator();
    }
    coordinator.give_up();
}

void Guard::end() {
    clean_up_after_agent(false);
    end_coordinator();
    if (agent_ends) _exit(announced_status);
    if (!agent_was_killed()) _exit(WEXITSTATUS(status));
    _exit(exit_status::kSignalBase + (ended_by ? ended_by : WTERMSIG(status)));
}

}  // namespace dlaunch::agent
