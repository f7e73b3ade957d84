#pragma once
/// --start-method=fork: the program is started once per node, as a template, runs to its fork point (worker_lib's
/// fork_point()) and waits there; every worker of every round is a fork of it, so that its preparation is paid once.
/// rendezvous/wire/fork_point.hpp has the protocol between them.
///
/// Nothing here waits for the template, be it slow, stopped, traced or dead: its progress comes as events.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "agent/process/children.hpp"
#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class AgentSocket;
class TemplateObserver;

/// Not thread-safe; belongs to the agent, whose child the template is.
class Template {
public:
    /// From waitid(2).
    struct End {
        pid_t pid = 0;
        int code = 0, status = 0;
        bool at_fork_point = false;
    };
    /// All must live longer.
    Template(base::Loop& loop, AgentSocket& socket, Children& children);
    Template(const Template&) = delete;
    Template& operator=(const Template&) = delete;
    /// Ends it, and all that it started.
    ~Template();

    void observe(TemplateObserver& observer) { observer_ = &observer; }

    /// None runs: start() is due.
    [[nodiscard]] bool absent() const { return pid_ == 0; }
    /// On its way to its fork point.
    [[nodiscard]] bool prepares() const { return pid_ != 0 && !socket_; }
    /// At its fork point. A template that has died there and was not reaped yet is forgotten without an event.
    [[nodiscard]] bool ready();
    /// 0: absent.
    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Executes the program. A failure to do so may also come later, as a refusal.
    [[nodiscard]] std::optional<SpawnError> start(SpawnRequest request);

    /// Orders a worker. The returned line (forking.hpp) reports its progress; the line ends when the template dies
    /// before it has made the worker.
    [[nodiscard]] std::variant<base::UniqueFd, SpawnError> order();

    /// Asks a template before its fork point to end. One that reaches the fork point all the same is killed there.
    void stop(int number);
    /// To its process group, in which its forks are until they have a session of their own.
    void signal(int number) const;

private:
    /// Process `peer` has sent "fork point" over the agent's socket; `obstacle`: why it cannot be forked.
    void at_fork_point(base::UniqueFd socket, pid_t peer, const std::string& obstacle);
    [[nodiscard]] std::optional<End> reap();
    void forget();
    void on_result();
    void on_end();
    void abandon();
    void refuse(const std::string& why);

    /// Killed, and no longer waited for by any round.
    struct Dying {
        base::UniqueFd pidfd;
        base::Watch watch;
    };

    base::Loop& loop_;
    Children& children_;
    TemplateObserver* observer_ = nullptr;
    pid_t pid_ = 0;
    std::optional<Spawning> spawning_;  ///< until it is known whether it runs the program
    base::Watch result_;
    std::map<pid_t, Dying> dying_;
    bool asked_to_stop_ = false;
    base::UniqueFd pidfd_;
    base::Watch ended_;
    base::UniqueFd socket_;  ///< once it is at its fork point
};

class TemplateObserver {
public:
    virtual void on_ready() = 0;                           ///< it is at its fork point
    virtual void on_refused(const SpawnError& error) = 0;  ///< it cannot be executed or forked, and was killed
    virtual void on_ended(const Template::End& end) = 0;   ///< by itself; the next worker needs another

protected:
    ~TemplateObserver() = default;
};

}  // namespace dlaunch::agent
