#pragma once
/// One round on one node: the ranks of its workers, and the worker store. Made by a Membership.

#include <string>

namespace dlaunch::agent {

/// This node's part in serving the worker store at master_addr:master_port.
struct StoreDuty {
    enum class Kind {
        none,           ///< another process serves it: group rank 0's agent, or this node's coordinator
        own_port,       ///< at the port that this node listens at already
        other_address,  ///< the same at the address of the other IP version
        named           ///< at `address`, which the user has named
    } kind = Kind::none;
    std::string address;  ///< numeric
};

struct Assignment {
    int round = 0;  ///< of this job, from 0
    int group_rank = 0, group_world_size = 1;
    int first_rank = 0;  ///< global rank of local rank 0
    int world_size = 1, local_world_size = 1;
    int first_role_rank = 0, role_world_size = 1;
    std::string master_addr;
    int master_port = 0;
    StoreDuty store;
    int restart_count = 0, max_restarts = 0;
    std::string restart_reason;  ///< empty for the first round
};

}  // namespace dlaunch::agent
