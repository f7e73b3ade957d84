#pragma once
/// The store of the running round, served by group rank 0's node: empty at the start of each round, at the same port in
/// all rounds.

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
    /// `warn` prints a line for the user. The loop must outlive the store.
    WorkerStore(base::Loop& loop, std::function<void(const std::string&)> warn);

    /// Listens at the numeric `address` from now on, for all rounds, and if possible at `other`, an address of the
    /// other IP version (may be empty). Port 0 is a free one.
    [[nodiscard]] base::Result<void> listen(const std::string& address, const std::string& other, int port = 0);
    [[nodiscard]] int port() const { return listener_.port; }
    /// `other`, if the store listens there; else empty.
    [[nodiscard]] const std::string& other_address() const { return other_address_; }

    enum class Serve { at_once, from_first_client };

    /// Starts an empty store for a round. With from_first_client the server starts when the first client connects, so
    /// that jobs without clients save its cost.
    void begin_round(bool at_other_address, Serve serve);
    /// The same at the user's fixed address and port.
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
    base::UniqueFd socket_;  ///< of the round's store until its server starts
    base::Watch first_client_;
    std::unique_ptr<store::ThreadedServer> server_;
};

}  // namespace dlaunch::agent
