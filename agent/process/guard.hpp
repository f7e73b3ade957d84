#pragma once
/// The guard: the process that the user started. It forks the agent and stays small. It forwards signals, stops and
/// continues with the terminal, and exits with the agent's status. Guard and agent watch each other: when one dies, the
/// other at once kills every worker and all processes that workers detached.
///
/// * The guard dies: the agent reads end of file on the link, and receives SIGCONT in case it was stopped. Before
///   ready() the agent has no workers and may be blocked, so the kernel kills the agent.
/// * The agent dies: its children are reparented to the guard, a subreaper. The guard kills the cgroup, if there is
///   one, and sweeps. A guard with a coordinator then restarts the agent.
/// * The agent freezes, in a job of several nodes: its lease (guard_lease.hpp) runs out, and the guard kills only the
///   workers. An agent that has not woken after the time for a rejoin is killed, too.
/// * The agent does not even read a signal: the guard kills the agent.
/// * The coordinator dies or stalls: the guard starts a successor at the same sockets (coordinator_child.hpp).

#include <signal.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "agent/process/coordinator_child.hpp"
#include "agent/process/guard_lease.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

inline constexpr std::size_t kLongestGoodbye = 32;

/// Writes the report of a killed agent's job, from the file of GuardLink::keep_last_record().
using LastRecordWriter = void (*)(int file, int status, std::string_view reason);

/// The agent's end of the link to its guard.
class GuardLink {
public:
    GuardLink() = default;
    /// `lease` is in memory shared with the guard and lives as long as the process; null: there is none. `hosts`: the
    /// guard runs a coordinator already, because this agent replaces one that died; `record` is that coordinator's.
    GuardLink(base::UniqueFd socket, pid_t guard, bool hangup_ignored, Lease* lease, bool hosts = false,
              base::UniqueFd record = {})
        : socket_(std::move(socket)),
          guard_(guard),
          hangup_ignored_(hangup_ignored),
          hosts_coordinator_(hosts),
          lease_(lease),
          record_(std::move(record)) {}

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] pid_t guard() const { return guard_; }
    /// SIGHUP was ignored when dlaunch was started (nohup), and stays ignored.
    [[nodiscard]] bool hangup_ignored() const { return hangup_ignored_; }

    enum class Kind { nothing, signals, guard_died };
    struct Received {
        Kind kind = Kind::nothing;
        sigset_t signals = {};  ///< that arrived together
    };
    /// The guard's next message; Kind::nothing: none is queued.
    [[nodiscard]] Received receive();

    /// Call before the agent creates anything that it must remove. From here on all signals are blocked, and the agent
    /// reads them. Before ready(), SIGINT, SIGTERM, SIGQUIT and SIGHUP to either process kill the agent, and the guard
    /// exits. `keeps_status`: after a signal that ends the job the guard exits with 128 + n and does not die of it, for
    /// a scheduler that needs the status.
    void ready(bool keeps_status = false);
    /// Names the cgroup that the guard must kill and remove if the agent dies. Call before making the folder.
    void register_cgroup(const std::string& folder);
    /// Names a folder that the guard must remove if the agent dies.
    void register_folder(const std::string& folder);
    /// If this process dies, the guard removes the shared memory that the workers' MPI libraries leave.
    void register_shared_memory();
    /// This process received a signal that ends the job: the guard dies of it at the end.
    void received(int signal);
    /// This process starts nodes. If it dies, those on this machine end by themselves and remove their files: the guard
    /// kills what is left of them a second later.
    void register_nodes();
    /// Gives the guard a copy of this connection. If the agent dies, the guard kills the workers, sends `gone`, or
    /// `returns` if it starts another agent (equally long, up to kLongestGoodbye bytes), and closes with FIN. The
    /// kernel alone would send RST if input is unread, and a reset proves nothing: any device on the path can send one.
    void keep_connection(int socket, std::string_view gone, std::string_view returns);
    void drop_connection() { keep_connection(-1, {}, {}); }
    /// The workers are stopped. The guard stops its process group by `stop_signal`, SIGTSTP or SIGTTIN, which returns
    /// the terminal to the shell. If no shell could continue the group, the kernel does not stop it, and the guard
    /// answers with SIGCONT.
    void report_suspended(int stop_signal);
    /// The agent is about to exit with `status`. The guard kills remaining workers, then prints `text`, if any, after
    /// "dlaunch: " and the host of a front end's node. The guard does not wait for an agent with a thread that is
    /// blocked in a system call on an unresponsive disk. `waited_for_console`: the agent has already waited for such a
    /// disk, so the guard waits only a moment for stderr.
    void announce_end(int status, std::string_view text = {}, bool waited_for_console = false);

    /// Makes the guard start the coordinator process with its job and its record (memory files) and its listening
    /// sockets. `only`: the caller exits next, and the guard stays only for the coordinator. False: the guard cannot be
    /// reached.
    [[nodiscard]] bool host_coordinator(int job, int record, std::span<const int> listeners, bool only = false);
    [[nodiscard]] bool hosts_coordinator() const { return hosts_coordinator_; }
    /// After host_coordinator(): all hosts of this front end have joined or failed.
    void no_more_hosts();
    /// Makes the guard deliver its exit status to the scheduler's tasks 1 to `count` - 1 that wait at this listener
    /// (status_socket.hpp).
    void share_status(int listener, int count);
    /// Keeps a copy of a record: a verdict in it outlives the coordinator process.
    void keep_record(int record);
    /// The record of this node's latest coordinator; -1: there was none.
    [[nodiscard]] int record() const { return record_.get(); }
    /// Gives the guard the facts from which it writes the report if this process is killed (last_record.hpp);
    /// -1: no longer.
    void keep_last_record(int file);

    /// Extends the lease to `until`. When it runs out, the guard kills the workers; if the agent has not woken `rejoin`
    /// later, the guard kills the agent. False: the lease has run out already.
    [[nodiscard]] bool let_workers_live_until(base::Time until, std::chrono::milliseconds rejoin);
    /// Ends the lease: no worker lives. If the guard has begun to kill workers, waits until it has finished.
    void no_workers_live();
    /// The guard has killed the workers because the lease ran out; true until no_workers_live().
    [[nodiscard]] bool has_fenced() const { return lease_ && lease_->fenced(); }

private:
    base::UniqueFd socket_;
    pid_t guard_ = 0;
    bool hangup_ignored_ = false;
    int continued_ = 0;  ///< SIGCONTs received
    bool hosts_coordinator_ = false;
    Lease* lease_ = nullptr;
    base::UniqueFd record_;
};

/// Forks. Returns only in the child, the agent; the caller becomes the guard. All taken_signals() are blocked in the
/// agent, except INT, TERM, QUIT and HUP, which kill it until ready(). Call first in main: before threads and
/// libraries, while few pages are in use. `host` is named in the guard's lines, which a front end shows beside those of
/// other nodes, and outlives the process; empty: none.
[[nodiscard]] GuardLink fork_from_guard(CoordinatorMain coordinator_main = nullptr, std::string_view host = {},
                                        LastRecordWriter write_last_record = nullptr);

/// A line for users about the death of the guard with this pid. The guard is the process that the user has started.
[[nodiscard]] std::string death_of_guard(pid_t guard);

/// Opens /dev/null for each of fds 0, 1 and 2 that is closed, so that no later descriptor gets its number.
void keep_standard_files_open();

}  // namespace dlaunch::agent
