#pragma once
/// --start-method=fork: the program starts once per node, as a template, runs to its fork point (worker_lib's
/// fork_point()) and waits there. Every worker of every round is forked from it, so that the preparation costs once.
/// rendezvous/wire/fork_point.hpp has the protocol.
///
/// Never blocks on the template, even if it is slow, stopped, traced or dead: events report its progress.

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

/// Not thread-safe. Owned by the agent; the template is a child of the agent.
class Template {
public:
    /// From waitid(2).
    struct End {
        pid_t pid = 0;
        int code = 0, status = 0;
        bool at_fork_point = false;
    };
    /// The arguments must outlive this object.
    Template(base::Loop& loop, AgentSocket& socket, Children& children);
    Template(const Template&) = delete;
    Template& operator=(const Template&) = delete;
    /// Kills the template and all processes that it started.
    ~Template();

    void observe(TemplateObserver& observer) { observer_ = &observer; }

    /// No template runs: start() is due.
    [[nodiscard]] bool absent() const { return pid_ == 0; }
    /// The template runs, before its fork point.
    [[nodiscard]] bool prepares() const { return pid_ != 0 && !socket_; }
    /// The template is at its fork point. A template that has just died there is dropped without an event.
    [[nodiscard]] bool ready();
    /// 0: absent.
    [[nodiscard]] pid_t pid() const { return pid_; }

    /// Executes the program. A failure may also be reported later, by on_refused().
    [[nodiscard]] std::optional<SpawnError> start(SpawnRequest request);

    /// Requests a worker. The returned channel (forking.hpp) reports its progress, and closes if the template dies
    /// before the fork.
    [[nodiscard]] std::variant<base::UniqueFd, SpawnError> order();

    /// Signals a template before its fork point to exit. If it reaches the fork point, it is killed there.
    void stop(int number);
    /// Signals the template's process group, which contains its forks until they have a session of their own.
    void signal(int number) const;

private:
    /// Process `peer` has sent "fork point"; `obstacle`: the reason why it cannot be forked, or empty.
    void at_fork_point(base::UniqueFd socket, pid_t peer, const std::string& obstacle);
    [[nodiscard]] std::optional<End> reap();
    void forget();
    void on_end();
    void abandon();
    void refuse(const std::string& why);

    /// A killed template that no round waits for.
    struct Dying {
        base::UniqueFd pidfd;
        base::Watch watch;
    };

    base::Loop& loop_;
    Children& children_;
    TemplateObserver* observer_ = nullptr;
    pid_t pid_ = 0;
    std::optional<Spawning> spawning_;  ///< until the fork point
    std::map<pid_t, Dying> dying_;
    bool asked_to_stop_ = false;
    base::UniqueFd pidfd_;
    base::Watch ended_;
    base::UniqueFd socket_;  ///< set at the fork point
};

class TemplateObserver {
public:
    virtual void on_ready() = 0;  ///< the template is at its fork point
    virtual void on_refused(
        const SpawnError& error) = 0;  ///< the template cannot be executed or forked, and was killed
    virtual void on_ended(
        const Template::End& end) = 0;  ///< the template exited by itself; the next worker needs a new one

protected:
    ~TemplateObserver() = default;
};

}  // namespace dlaunch::agent
