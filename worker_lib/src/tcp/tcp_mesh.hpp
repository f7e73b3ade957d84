#pragma once
/// A mesh of TCP connections of our own. The thread that waits for a transfer sends and receives for all connections of
/// collectives: no other thread is woken, and data moves between the caller's memory and the sockets.

#include "worker_lib/src/mesh/mesh.hpp"
#include "worker_lib/src/tcp/connection.hpp"
#include "worker_lib/src/tcp/lanes.hpp"

namespace dlaunch::worker::tcp {

class TcpMesh final : public mesh::Mesh {
public:
    /// Connects all ranks; throws Error.
    TcpMesh(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline);
    ~TcpMesh() override;

    [[nodiscard]] std::unique_ptr<mesh::Flow> flow(int peer, bool sends, std::uint64_t slot, const void* data,
                                                   std::size_t bytes) override;
    [[nodiscard]] std::unique_ptr<mesh::Lane> lane(int peer, bool sends) override;
    [[nodiscard]] bool is_broken(int peer) override;

    [[nodiscard]] Connection& connection(int peer) { return *connections_[static_cast<std::size_t>(peer)]; }
    /// The peer's connection has new transfers: the next await() begins them.
    void set_changed(int peer) {
        if (changed_.empty() || changed_.back() != peer) changed_.push_back(peer);
    }
    /// Progresses all connections until `completed` is positive, and decrements it. Throws TimedOut, Broken, and Error
    /// if this rank has given up.
    void await(int& completed, int peer, bool sends, Time until);

private:
    void connect(const std::vector<Member>& members, Time deadline, int& peer);
    void accept_higher_ranks(Acceptor& acceptor, Time deadline);
    void add(int peer, base::UniqueFd socket);
    bool progress_ready(Time until);
    void end_waits() override;
    void close_connections() override;

    std::vector<std::unique_ptr<Connection>> connections_;  // by rank; none for this rank
    std::vector<int> changed_;                              // ranks
    base::UniqueFd wakeup_, ready_;                         // an eventfd; an epoll of it and all connections
    std::unique_ptr<Lanes> lanes_;
    int spins_ = 0;
};

/// The backend "tcp", between any hosts. Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                                    const StoreHandle& store, Time deadline);

}  // namespace dlaunch::worker::tcp
