#pragma once
/// How the ranks of a world find each other: own rank and world size, the store, and the other members.

#include <memory>
#include <string>
#include <vector>

#include <dlaunch/error.hpp>
#include <dlaunch/options.hpp>
#include "rendezvous/store/server/threaded_server.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker {

struct InitMethod {
    enum class Kind { env, tcp, file } kind = Kind::env;
    std::string place;  ///< host or path
    int port = 0;
};
/// Parses "tcp://host:port", "file:///path" or "env://"; throws Error (invalid_argument).
[[nodiscard]] InitMethod parse_init_method(const std::string& text);

struct Bootstrap {
    int rank = 0, world_size = 1;
    std::shared_ptr<store::ThreadedServer> host;  ///< the store's server if this rank runs it
    std::shared_ptr<StoreSource> store;
    std::string prefix;   ///< of this world's keys
    bool in_job = false;  ///< rank and world size are those of the launcher's job
};
/// Connects to the store; rank 0 starts its server unless the agent runs one. Throws Error.
[[nodiscard]] Bootstrap bootstrap(const InitOptions& options, Time deadline);

/// One process of a world, as known to the other ranks.
struct Member {
    std::string host_id;  ///< equal for processes that can share memory
    int pid = 0;
    std::string host;     ///< host name, for messages
    std::string backend;  ///< as requested
    std::string cores{};  ///< usable_core_mask()
    int named = -1;       ///< its rank in texts: RANK; where not all members have a different one, that in the world
};
/// RANK of the environment; -1: none.
[[nodiscard]] int rank_of_environment();
/// Sets `named` of all members to their ranks, unless all have a different one.
void name_by_rank(std::span<Member> members);
/// Publishes this rank's Member and returns all members, by rank. Throws Error: timeout, with the missing ranks;
/// mismatch on all ranks, if some name another backend.
[[nodiscard]] std::vector<Member> exchange_members(const StoreHandle& store, int rank, int world_size,
                                                   const std::string& backend, Time deadline);
/// Throws Error (mismatch) that names the ranks which requested each backend, unless all requested the same.
void check_backends(std::span<const Member> members);

/// Publishes `value` under this rank and returns the values of all `ranks` of a group, in the order of `ranks`. Throws
/// Error (timeout) that names the ranks that did not publish in time; also if another rank gave up waiting for this
/// one.
[[nodiscard]] std::vector<std::string> roll_call(const StoreHandle& store, const Error::Where& where,
                                                 std::span<const int> ranks, int rank, const RankNames& names,
                                                 const std::string& value, Time deadline);

/// Encodes an Error that names ranks as a value of the store, and decodes it; op, sequence and group are not included.
[[nodiscard]] std::string pack_error(const Error& error);
[[nodiscard]] Error unpack_error(const std::string& text, const Error::Where& where);

}  // namespace dlaunch::worker
