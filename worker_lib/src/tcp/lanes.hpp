#pragma once
/// Connections for messages, one per direction and pair of ranks. The sender opens it with its first message: most
/// pairs of a large group exchange none, and a process has a limited number of descriptors.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker_lib/src/mesh/mesh.hpp"
#include "worker_lib/src/tcp/acceptor.hpp"

namespace dlaunch::worker::tcp {

class TcpLane;

class Lanes {
public:
    /// `spins`: looks at a socket before a thread sleeps.
    Lanes(int rank, int spins, std::unique_ptr<Acceptor> acceptor, std::vector<std::string> invitations)
        : rank_(rank),
          spins_(spins),
          acceptor_(std::move(acceptor)),
          invitations_(std::move(invitations)),
          arrived_(invitations_.size()) {}

    /// `connection`: the socket of collectives with the peer, which shows whether the peer is still connected.
    [[nodiscard]] std::unique_ptr<mesh::Lane> make(int peer, bool sends, int connection);
    /// Ends all lanes for this rank and its peers. Any thread.
    void close();

private:
    friend class TcpLane;
    [[nodiscard]] base::UniqueFd take(int peer);

    const int rank_, spins_;
    const std::unique_ptr<Acceptor> acceptor_;
    const std::vector<std::string> invitations_;  // by rank
    std::mutex mutex_;
    std::vector<base::UniqueFd> arrived_;  // accepted and not yet taken, by rank
    std::vector<TcpLane*> lanes_;
    bool closed_ = false;
};

}  // namespace dlaunch::worker::tcp
