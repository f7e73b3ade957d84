#pragma once
/// The store of the running round, served by group rank 0's node: empty at the start of each round. Each round has a
/// port of its own, unless the user has fixed it: a surviving process of an earlier round, as on a host that was
/// frozen, does not reach a later store.

#include <functional>
#include <memory>
#include <string>

#include "agent/services/round_service.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace dlaunch::agent {

/// The message for a worker store that cannot listen at the user's address.
[[nodiscard]] inline std::string cannot_serve(const std::string& reason) {
    return "the worker store: " + reason + "; --master-addr and --master-port must name a free port of this node";
}

/// Owned by the agent. The membership chooses the addresses, and ends the store when no node needs it any more.
class WorkerStore final : public RoundService {
public:
    using Warn = std::function<void(const std::string&)>;

    /// `warn` prints a line for the user. The loop must outlive the store.
    WorkerStore(base::Loop& loop, Warn warn);

    /// Listens at the numeric `address` from now on, and if possible at `other`, an address of the other IP version
    /// (may be empty). Port 0 is a free one, and another one after each renew(). Replaces the addresses of an earlier
    /// call.
    [[nodiscard]] base::Result<void> listen(const std::string& address, const std::string& other, int port = 0);
    /// A round is over: chooses the next round's port, unless it is fixed or no listener can be opened.
    void renew();
    [[nodiscard]] int port() const { return listener_.port; }
    /// `other`, if the store listens there; else empty.
    [[nodiscard]] const std::string& other_address() const { return other_address_; }

    /// Starts an empty store for the round if this node serves it. A store that no other node uses starts its server
    /// when the first client connects, so that jobs without clients save its cost.
    void prepare(const Assignment& assignment) override;
    /// TORCHELASTIC_USE_AGENT_STORE=False where the store could not be served.
    void contribute(const Assignment& assignment, int local_rank, Contribution& contribution) override;
    /// Closes the store and all its connections.
    void end_round();

private:
    [[nodiscard]] base::Result<base::UniqueFd> socket_for(const Assignment& assignment) const;
    void start_server();

    base::Loop& loop_;
    std::shared_ptr<const Warn> warn_;  ///< callbacks of the server's thread hold it weakly: late lines are dropped
    std::string address_, other_address_;
    bool fixed_port_ = false;
    bool failed_ = false;  ///< the running round has no store of this node
    store::Listener listener_, other_listener_;
    base::UniqueFd socket_;  ///< of the round's store until its server starts
    base::Watch first_client_;
    std::unique_ptr<store::ThreadedServer> server_;
};

}  // namespace dlaunch::agent
