#pragma once
/// How the ranks of a world find each other: who am I, where is the store, who are the others?

#include <memory>
#include <string>
#include <vector>

#include <dlaunch/error.hpp>
#include <dlaunch/options.hpp>
#include "rendezvous/store/server/threaded_server.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker {

/// "tcp://host:port", "file:///path" or "env://" taken apart; throws Error (invalid_argument).
struct InitMethod {
    enum class Kind { env, tcp, file } kind = Kind::env;
    std::string place;  ///< host or path
    int port = 0;
};
[[nodiscard]] InitMethod parse_init_method(const std::string& text);

struct Meeting {
    int rank = 0, world_size = 1;
    std::shared_ptr<store::ThreadedServer> host;  ///< where this rank serves the store
    std::shared_ptr<StoreSource> store;
    std::string prefix;   ///< of this world's keys
    bool in_job = false;  ///< the ranks are those that the launcher gave
};
/// Finds the store, or serves it. Throws Error.
[[nodiscard]] Meeting meet(const InitOptions& options, Time deadline);

/// One process of a world, as the others know it.
struct Member {
    std::string host_id;  ///< the same where memory can be shared
    int pid = 0;
    std::string host;  ///< its name, for humans
};
/// Tells the others who this rank is and returns all, by rank; throws Error (timeout) that names who did not come.
[[nodiscard]] std::vector<Member> introduce(const StoreHandle& store, int rank, int world_size, Time deadline);

/// Says something to others, by their ranks, and hears what they say, in that order. Throws Error (timeout) that names
/// who did not come in time, or that somebody did not wait for this rank.
[[nodiscard]] std::vector<std::string> roll_call(const StoreHandle& store, const Error::Where& where,
                                                 std::span<const int> ranks, int rank, const std::string& said,
                                                 Time deadline);

/// An Error that names ranks as a value of the store, and back; where it happened is not in it.
[[nodiscard]] std::string pack_error(const Error& error);
[[nodiscard]] Error unpack_error(const std::string& text, const Error::Where& where);

}  // namespace dlaunch::worker
