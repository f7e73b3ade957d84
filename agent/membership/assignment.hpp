#pragma once
/// One round on one node: the ranks of its workers, and the worker store. Made by a Membership.

#include <string>

#include "rendezvous/wire/rank_layout.hpp"

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
    int world_size = 1;
    rendezvous::RankLayout ranks;  ///< a block per context of this node
    std::string master_addr;       ///< of the worker store, with master_port
    int master_port = 0;
    bool relayed = false;  ///< the store takes relays only
    int relay_port = 0;    ///< of this node's relay, on loopback
    std::string jax_addr;  ///< of JAX's coordinator, which rank 0 runs
    int jax_port = 0;      ///< 0: none
    StoreDuty store;
    int restart_count = 0, max_restarts = 0;
    std::string restart_reason;  ///< empty for the first round

    /// Where processes of this node reach the worker store.
    [[nodiscard]] std::string store_addr() const { return relayed ? "127.0.0.1" : master_addr; }
    [[nodiscard]] int store_port() const { return relayed ? relay_port : master_port; }
};

}  // namespace dlaunch::agent
