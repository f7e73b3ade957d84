#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

class Group;

/// A connection to $DLAUNCH_AGENT_SOCKET; none where there is no agent.
[[nodiscard]] base::UniqueFd connect_to_agent();

/// A lasting connection to the agent ($DLAUNCH_AGENT_SOCKET), over which it tells which ranks of the job are gone. Made
/// for the first group that wants to know; heard by the thread that watches peers. Without an agent nothing is told.
class AgentLink {
public:
    /// This process's. It is never destroyed, as its thread may be at it when the process ends.
    static AgentLink& instance();

    /// What the group's ranks wait for ends as soon as one of them is gone. Its ranks in the world are the job's.
    void follow(const std::shared_ptr<Group>& group);
    /// The agent's words about a rank of the job that is gone; unset: it has said nothing.
    [[nodiscard]] std::optional<std::string> why_lost(int rank);

private:
    struct Loss {
        int first, count;
        std::string words;
    };
    void connect();
    bool hear();
    void take(const std::string& line);

    std::mutex mutex_;
    bool tried_ = false;
    base::UniqueFd socket_;
    std::string held_;
    std::vector<Loss> losses_;
    std::vector<std::weak_ptr<Group>> groups_;
};

}  // namespace dlaunch::worker
