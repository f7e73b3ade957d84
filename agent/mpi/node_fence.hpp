#pragma once
/// A fence among the nodes of a round: each node contributes bytes and receives those of all nodes. The bytes go
/// through the round's store; a single node does not use it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/mpi/family.hpp"
#include "agent/mpi/world.hpp"
#include "agent/services/store_client.hpp"

namespace dlaunch::agent {

/// Lives as long as its round: destroying it drops all callbacks. The loop must outlive it.
class NodeFence {
public:
    /// The nodes' contributions by group rank.
    using Done = std::function<void(const base::Result<std::vector<std::string>>&)>;

    /// `name` distinguishes the fences of a round that run at the same time; all nodes use the same names.
    NodeFence(base::Loop& loop, const Assignment& assignment, std::string name);

    /// The next fence. All nodes must enter their fences of one name in the same order; a node waits without a limit
    /// for the other nodes. `done` never runs from this call.
    void enter(std::string_view bytes, Done done);

    using TakeWorld = std::function<void(const base::Result<MpiWorld>&)>;
    /// The next fence exchanges the nodes' ranks. `done` never runs from this call; an error names what is wrong: a
    /// node with another `family`, or one that has not entered within 20 s.
    void gather_world(MpiFamily family, const Plan& plan, const Assignment& assignment, TakeWorld done);

private:
    void finish_soon(base::Result<std::vector<std::string>> result, Done done);
    [[nodiscard]] std::string key(int number, int node) const;

    base::Loop& loop_;
    const int here_, nodes_;
    const std::string name_;
    int entered_ = 0;  ///< fences so far
    StoreClient store_;
    base::Timer soon_, due_;
    bool is_late_ = false;  ///< the world was given up
};

/// The name of the fence that exchanges the ranks, whatever the node's family.
inline constexpr const char* kWorldFence = "world";

/// The prefix of all keys of a round: "dlaunch/mpi/3/".
[[nodiscard]] std::string round_prefix(const Assignment& assignment);

}  // namespace dlaunch::agent
