#pragma once
/// The guard: the process that the user started. It forks the agent and stays small: it passes signals on, stops and
/// continues with the terminal, and ends with the agent's status. Guard and agent watch each other: when either dies in
/// whatever way, the other kills every worker and all that workers detached, at once.
///
/// The guard dies  -> the agent reads end of file on the link, and gets SIGCONT in case it was stopped.
///                    Before it is ready() it has nothing to end and may be blocked: the kernel kills it.
/// The agent dies  -> its children become the guard's, a subreaper; cgroup.kill where there is one, and the sweep.
/// The agent dies on the node that hosts the coordinator -> the workers end likewise, and the guard starts the agent
/// anew. The coordinator dies or stands still -> the guard starts its successor at the same sockets
/// (coordinator_child.hpp). The agent freezes, in a job of several nodes -> its lease (lease.hpp) runs out, and the
/// guard ends the workers only.

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/process/coordinator_child.hpp"
#include "agent/process/lease.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

inline constexpr std::size_t kLongestGoodbye = 64;

/// The agent's end of the link to its guard.
class GuardLink {
public:
    GuardLink() = default;
    /// `lease` is shared with the guard, and lives as long as the process; null: the guard does not watch over any.
    /// `hosts`: the guard has a coordinator already, as this agent replaces one that died.
    GuardLink(base::UniqueFd socket, pid_t guard, bool hangup_ignored, Lease* lease, bool hosts = false)
        : socket_(std::move(socket)),
          guard_(guard),
          hangup_ignored_(hangup_ignored),
          hosts_coordinator_(hosts),
          lease_(lease) {}

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] pid_t guard() const { return guard_; }
    /// SIGHUP was ignored when we were started (nohup): it stays ignored.
    [[nodiscard]] bool hangup_ignored() const { return hangup_ignored_; }

    enum class Kind { nothing, signals, guard_died };
    struct Received {
        Kind kind = Kind::nothing;
        sigset_t signals = {};  ///< what came as one request
    };
    /// The next thing the guard has said; nothing when it has said all.
    [[nodiscard]] Received receive();

    /// The agent is about to make what it must remove, and then to take signals, all of which are blocked from here on.
    /// Until this those that end a job kill the agent, whichever of the two they came to, and neither outlives the
    /// other.
    void ready();
    /// Tells the guard which cgroup it has to kill and remove if we die. Before the folder is made.
    void tell_cgroup(const std::string& folder);
    /// A folder of plain files that goes with the job: the guard removes it if we die.
    void tell_folder(const std::string& folder);
    /// The guard keeps this connection open beside us; if we die it kills the workers, sends `goodbye` (up to
    /// kLongestGoodbye bytes) and closes in order. The kernel alone would reset the connection where something lies
    /// unread, and a reset may come from anything between the ends.
    void keep_connection(int socket, std::string_view goodbye);
    void drop_connection() { keep_connection(-1, {}); }
    /// The workers stand still: the guard's group stops by `stop_signal`, SIGTSTP or SIGTTIN, which gives the terminal
    /// back to the shell. Where no shell could continue it the kernel does not stop it, and SIGCONT is the answer.
    void tell_suspended(int stop_signal);
    /// The agent is about to exit with `status`; no worker of it needs an orderly end. The guard prints `text`, if any,
    /// after "dlaunch: " when all are gone. An agent that cannot exit, as one of its threads is inside a system call on
    /// a disk that does not answer, is not waited for.
    void announce_end(int status, std::string_view text = {});

    /// The guard starts the job's coordinator in a process of its own: with the bytes of its job (a memory file), a
    /// file for its record, and the sockets that it serves. `only`: the caller exits next, and the guard stays for the
    /// coordinator alone. False: the guard cannot be reached.
    [[nodiscard]] bool host_coordinator(int job, int record, std::span<const int> listeners, bool only = false);
    [[nodiscard]] bool hosts_coordinator() const { return hosts_coordinator_; }

    /// Without a later word the guard ends the workers then. False: it has done so, or is about to.
    [[nodiscard]] bool let_workers_live_until(base::Time until);
    /// No worker lives; nor is the guard still looking for some.
    void no_workers_live();
    /// The guard has ended the workers because we stood still; until no_workers_live().
    [[nodiscard]] bool has_fenced() const { return lease_ && lease_->fenced(); }

private:
    base::UniqueFd socket_;
    pid_t guard_ = 0;
    bool hangup_ignored_ = false;
    bool hosts_coordinator_ = false;
    Lease* lease_ = nullptr;
};

/// Forks. Returns in the agent, with every signal blocked that signals.hpp takes but those that end it until it is
/// ready(); the caller stays the guard and does not return. Call first in main: before threads, before libraries, with
/// few pages to share.
[[nodiscard]] GuardLink fork_from_guard(CoordinatorMain coordinator_main = nullptr);

/// Opens /dev/null in the place of fds 0, 1 and 2 that are closed, so that no descriptor of ours takes their number.
void keep_standard_files_open();

}  // namespace dlaunch::agent
