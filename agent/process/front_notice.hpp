#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>

namespace dlaunch::agent {

/// From the agent to a front end, by the pipe Plan::front_notices.
struct FrontNotice {
    enum class Kind : std::int32_t {
        joined,  ///< the coordinator has admitted this node; from now on it notices the node's loss
        /// Workers of this node read standard input from now on, or none of them does any more. The front end sends
        /// input only to nodes that read it, since another node's full pipe would hold back all nodes; and only when
        /// all nodes of the round that will read it do, since a node would miss the beginning.
        input,
        worker,  ///< how a worker of a round that is over has ended
    };
    /// For the report, as agent::WorkerResult.
    struct Worker {
        std::int32_t rank = 0, local_rank = 0, pid = 0, exit_status = 0;
        std::int64_t max_rss_kib = 0;
        double user_seconds = 0, system_seconds = 0;
        std::array<char, 256> role{};  ///< ends with zeros; a longer one is cut
        bool operator==(const Worker&) const = default;
    };
    Kind kind = Kind::joined;
    std::int32_t round = 0;  ///< of `input` and `worker`
    std::int32_t nodes = 1;  ///< of `input`: of this round, with readers
    std::int32_t reads = 0;  ///< of `input`: 1 or 0
    Worker worker;
    bool operator==(const FrontNotice&) const = default;
};

/// A pipe takes it whole. `pipe` -1: no front end. An agent process that died receives nothing.
inline void tell_front_end(int pipe, const FrontNotice& notice) {
    if (pipe >= 0) static_cast<void>(!write(pipe, &notice, sizeof notice));
}

}  // namespace dlaunch::agent
