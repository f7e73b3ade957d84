#pragma once
/// The store of the running round, which a node serves while it is group rank 0. It is empty at the start of each round
/// and at the same port in all of them.

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace dlaunch::agent {

class WorkerStore {
public:
    /// `warn` takes a line for the user. The loop must outlive the store.
    WorkerStore(base::Loop& loop, std::function<void(const std::string&)> warn);

    /// Listens at `address`, a number, and where it can at `other`, an address of the other kind (may be empty), from
    /// now on and for all rounds; port 0 is a free one.
    [[nodiscard]] base::Result<void> listen(const std::string& address, const std::string& other, int port = 0);
    [[nodiscard]] int port() const { return listener_.port; }
    /// The address of the other kind at which it listens; empty: none.
    [[nodiscard]] const std::string& other_address() const { return other_address_; }

    enum class Serve { at_once, from_first_client };

    /// An empty store for a round. Until the first client comes it may go without a server, so that a job of one node
    /// whose workers never connect pays for none.
    void begin_round(bool at_other_address, Serve serve);
    /// The same at an address and a port that the user named for all rounds.
    [[nodiscard]] base::Result<void> begin_round_at(const std::string& address, int port);
    /// Closes the store and all its connections.
    void end_round();

private:
    void begin(base::UniqueFd socket, Serve serve);
    void start_server();

    base::Loop& loop_;
    std::function<void(const std::string&)> warn_;
    store::Listener listener_, other_listener_;
    std::string other_address_;
    base::UniqueFd socket_;  ///< of the round's store until its first client comes
    base::Watch first_client_;
    std::unique_ptr<store::ThreadedServer> server_;
};

}  // namespace dlaunch::agent
