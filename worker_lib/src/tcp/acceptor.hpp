#pragma once
/// The listening socket of a rank, at which the other ranks of its group connect. A connection begins with a hello that
/// proves knowledge of the group's store; a connection that begins with anything else is closed.

#include <cstdint>
#include <optional>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "worker_lib/src/core/deadline.hpp"

namespace dlaunch::worker::tcp {

/// The purpose of a connection: transfers of collectives in both directions, or messages to the acceptor's rank.
enum class Purpose : std::uint32_t { collectives, messages };

class Acceptor {
public:
    /// Listens at a free port of a numeric address; throws std::runtime_error.
    explicit Acceptor(const std::string& address);

    /// For the other ranks, by the store: "ADDRESS PORT SECRET".
    [[nodiscard]] std::string invitation() const;
    [[nodiscard]] int socket() const { return listener_.get(); }

    struct Accepted {
        int rank;
        Purpose purpose;
        base::UniqueFd socket;  ///< non-blocking
    };
    /// The next connection that has arrived and is of a rank below `ranks`; unset: there is none. Waits at most a
    /// second for the hello of each connection. One thread at a time. Throws as connect().
    [[nodiscard]] std::optional<Accepted> accept(int ranks);
    /// Refuses new connections. Any thread.
    void close();

private:
    const std::string address_;
    std::uint64_t secret_;
    int port_ = 0;
    base::UniqueFd listener_;
};

/// Connects as `rank` to the acceptor of an invitation. The socket does not block; empty at the deadline. Throws Error
/// (backend) for a limit of this process or host, else std::runtime_error.
[[nodiscard]] base::UniqueFd connect(const std::string& invitation, int rank, Purpose purpose, Time deadline);

}  // namespace dlaunch::worker::tcp
