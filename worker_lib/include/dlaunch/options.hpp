#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <dlaunch/standard.hpp>

namespace dlaunch {

/// The time-out of groups unless another is given.
inline constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(30);

inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

struct CallOptions {
    std::optional<std::chrono::milliseconds> timeout = {};  ///< unset: the group's
};

struct SendOptions {
    int tag = 0;  ///< 0 or more
    std::optional<std::chrono::milliseconds> timeout = {};
};

struct RecvOptions {
    int tag = kAnyTag;
    bool up_to = false;  ///< accept a shorter message; a longer one is always an error
    std::optional<std::chrono::milliseconds> timeout = {};
};

struct SendRecvOptions {
    int send_tag = 0;  ///< 0 or more
    int recv_tag = kAnyTag;
    bool up_to = false;  ///< as in RecvOptions
    std::optional<std::chrono::milliseconds> timeout = {};
};

struct BarrierOptions {
    std::optional<std::chrono::milliseconds> timeout = {};
    bool wait_all_ranks = true;  ///< a time-out names all missing ranks, not only the first
};

/// Fields of ncclConfig_t, for the communicators of a group; unset: NCCL's choice. Ignored without nccl. One that the
/// loaded NCCL does not know is refused with Error (invalid_argument). Communicators are never blocking, because
/// time-outs could not end their calls.
struct NcclOptions {
    std::optional<int> min_ctas = {}, max_ctas = {};  ///< thread blocks of a kernel; since NCCL 2.17
    std::optional<int> cga_cluster_size = {};         ///< 0 to 8; since 2.17
    std::string net_name = {};                        ///< "IB", "Socket", or a plug-in's; since 2.17
    std::optional<bool> split_share = {};             ///< share resources with groups made of this one; since 2.18
    std::optional<int> traffic_class = {};            ///< of the network; since 2.25
};

struct InitOptions {
    std::string backend = {};            ///< "auto", "shm", "tcp", "gloo", "nccl"; empty: $DLAUNCH_BACKEND, else auto
    std::string init_method = "env://";  ///< or "tcp://host:port", "file:///path"
    std::optional<int> rank = {};        ///< unset: $RANK
    std::optional<int> world_size = {};  ///< unset: $WORLD_SIZE
    std::chrono::milliseconds timeout = kDefaultTimeout;  ///< of joining and of the group's calls
    std::string group_name = "world";
    NcclOptions nccl = {};
};

struct GroupOptions {
    std::string backend = {};                               ///< empty: the parent's choice
    std::optional<std::chrono::milliseconds> timeout = {};  ///< unset: the parent's
    std::string name = {};  ///< empty: the parent's name and a number, such as "world/1"
    NcclOptions nccl = {};  ///< unset fields: the parent's
};

}  // namespace dlaunch
