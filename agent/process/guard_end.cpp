// What the guard does when the agent has ended, and for a coordinator without one.

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
constexpr auto kHandOver = 5000ms;    // of a coordinator that is asked to
constexpr auto kDelivery = 60'000ms;  // of the verdict, which a coordinator ends by itself much earlier
constexpr auto kSoonDead = 10'000ms;  // an agent that dies so soon after its start ...
constexpr int kSoonDeadInARow = 3;    // ... so often is not started again

/// What an agent that was killed could not remove itself.
void remove_flat_folder(const char* folder) {
    DIR* entries = opendir(folder);
    if (!entries) return;
    while (const dirent* entry = readdir(entries)) unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
}

}  // namespace

/// True when none lives.
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

/// Beside a living coordinator a dead agent costs the job one round: the guard starts it anew, and it joins again.
bool Guard::starts_agent_again() {
    if (!coordinator.is_seated() || !agent_was_killed() || ended_by || !agent_ready || coordinator.page().is_over)
        return false;
    agent_deaths = base::Clock::now() - agent_began < kSoonDead ? agent_deaths + 1 : 1;
    return agent_deaths <= kSoonDeadInARow;
}

/// Acts first and prints last: stderr may have no reader, and no worker may live for that.
void Guard::clean_up_after_agent(bool returns) {
    const bool killed = agent_was_killed();
    const bool none_lives = kill_workers();
    if (returns && !goodbye.empty()) goodbye = wire::encode(rendezvous::Gone{.returns = true});
    close_connection(none_lives);
    if (killed && modes) {  // a worker may have had the terminal, in modes of its own
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
    // A dead agent's end of the link stays readable: without this the loop would spin until it is reaped.
    if (what[1].revents & (POLLHUP | POLLERR)) socket = -1;
}

/// Until it is dead.
void Guard::watch_agent() {
    const int link = socket;
    while (agent_alive) {
        turn();
        if (agent_alive) fence();
        if (agent_alive) stop_waiting_for_agent();
    }
    socket = link;
    read_messages();  // the cgroup may have been announced just before the end
    if (agent_was_killed() && !agent_ready && std::ranges::find(kEndAtOnce, WTERMSIG(status)) != std::end(kEndAtOnce))
        ended_by = WTERMSIG(status);
}

/// Without an agent, until the job is over or the coordinator has given up its place.
void Guard::watch_coordinator() {
    const int job_status = WEXITSTATUS(status);
    forget_agent();
    look_after_coordinator();
    while (coordinator.is_seated()) turn();
    if (coordinator.page().is_over) _exit(coordinator.page().status);
    if (told_to_end) _exit(exit_status::kSignalBase + told_to_end);
    _exit(job_status ? job_status : exit_status::kCoordinatorLost);
}

/// A coordinator that delivers the verdict goes on until every node has it. Another one gives its claim to the next
/// node, where it can.
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
        if (drain_signals(seen)) break;  // asked again
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
