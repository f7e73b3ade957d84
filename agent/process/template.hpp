#pragma once
/// --start-method=fork: the program is started once per node, as a template, runs to its fork point (worker_lib's
/// fork_point()) and waits there; every worker of every round is a fork of it. What it did until then is paid once.
///
/// The template connects to the agent's socket and says "fork point", or "fork point" and why it cannot be forked. Then
/// the agent sends an order for each worker: the length of its variables in bytes and, with it, four descriptors; then
/// the variables, "NAME=value", each with its null byte. The template forks twice, so that the worker is an orphan, and
/// an orphan of a subreaper is the agent's own child as any other worker. It answers with the worker's pid, or with
/// -errno. The fourth descriptor is the worker's own: a byte that it may go on, and one back that it has its files and
/// its session, and runs.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

class AgentSocket;

/// Not thread-safe; belongs to the agent, whose child the template is.
class Template {
public:
    struct Listener {
        std::function<void()> ready;                    ///< it is at its fork point
        std::function<void(const SpawnError&)> failed;  ///< it is not, and has gone
    };
    /// `socket` must live longer.
    explicit Template(AgentSocket& socket);
    Template(const Template&) = delete;
    Template& operator=(const Template&) = delete;
    /// Ends it, and all that it started.
    ~Template();

    void listen(Listener listener) { listener_ = std::move(listener); }

    /// Nobody runs: start() is due.
    [[nodiscard]] bool absent() const { return pid_ == 0; }
    [[nodiscard]] bool ready() const { return static_cast<bool>(socket_); }
    /// 0: absent.
    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Executes the program.
    [[nodiscard]] std::optional<SpawnError> start(SpawnRequest request);

    struct Forked {
        pid_t pid;
        base::UniqueFd pidfd;
    };
    /// A worker as a fork. Of the request: files, variables, cgroup, processors. Waits for it, some seconds
    /// at most.
    [[nodiscard]] std::variant<Forked, SpawnError> fork(const SpawnRequest& request);

    /// A child of this number has ended and waits to be reaped. False: it is not the template.
    bool collect(pid_t pid);

private:
    /// Somebody has said "fork point" on the agent's socket, and `said` after it.
    void at_fork_point(base::UniqueFd socket, pid_t peer, std::string said);
    void end();
    void fail(SpawnError error);

    AgentSocket& agent_socket_;
    Listener listener_;
    pid_t pid_ = 0;
    base::UniqueFd socket_;  ///< once it is at its fork point
};

}  // namespace dlaunch::agent
