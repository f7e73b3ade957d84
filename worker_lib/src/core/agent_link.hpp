#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

class Group;

/// A connection to $DLAUNCH_AGENT_SOCKET; an empty descriptor where there is no agent.
[[nodiscard]] base::UniqueFd connect_to_agent();

/// A persistent connection to the agent ($DLAUNCH_AGENT_SOCKET), which sends a loss notice for every rank of the job
/// that is gone. The first subscribing group opens the connection; PidWatcher's thread reads it. Without an agent there
/// are no notices.
class AgentLink {
public:
    /// The link of this process. Never destroyed: the watcher's thread may use it while the process ends.
    static AgentLink& instance();

    /// Fails the group (Group::fail_lost) for every lost rank, past and future. Ranks of the world must be the job's.
    void subscribe(const std::shared_ptr<Group>& group);
    /// The reason in the agent's loss notice for a rank of the job; unset: no notice has arrived.
    [[nodiscard]] std::optional<std::string> loss_reason(int rank);

private:
    struct Loss {
        int first, count;
        std::string reason;
    };
    void connect();
    bool receive();
    void handle_line(const std::string& line);

    std::mutex mutex_;
    bool attempted_ = false;
    base::UniqueFd socket_;
    std::string partial_;
    std::vector<Loss> losses_;
    std::vector<std::weak_ptr<Group>> groups_;
};

}  // namespace dlaunch::worker
