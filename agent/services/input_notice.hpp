#pragma once

#include <cstdint>

namespace dlaunch::agent {

/// From the agent to a front end, by the pipe Plan::input_notices: workers of this node read standard input from now
/// on, or none of them does any more. The front end sends input only to nodes that read it, since another node's full
/// pipe would hold back all nodes; and only when all nodes of the round that will read it do, since a node would miss
/// the beginning.
struct InputNotice {
    std::int32_t round = 0;
    std::int32_t nodes = 1;  ///< of this round, with readers
    std::int32_t reads = 0;  ///< 1 or 0
    bool operator==(const InputNotice&) const = default;
};

}  // namespace dlaunch::agent
