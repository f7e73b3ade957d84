#pragma once
/// The store of the running round, served by group rank 0's node: empty at the start of each round. Each round has a
/// port of its own, unless the user has fixed it: a surviving process of an earlier round, as on a host that was
/// frozen, does not reach a later store.

#include <functional>
#include <memory>
#include <string>

#include "agent/services/round_service.hpp"
#include "agent/services/store_relay.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace dlaunch::agent {

/// The message for a worker store that cannot listen at the user's address, with the process that has the port.
[[nodiscard]] std::string cannot_serve(const std::string& reason, int port);

/// The rules of access to the round's stores.
struct StoreAccess {
    std::string job_id{};
    auth::TlsContextPtr tls{};   ///< of the connections between nodes; null: plain
    base::Duration patience{};   ///< of this node's relay, while the store cannot be reached
    bool own_user_only = false;  ///< a store without relays is for processes of this user
};

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

    /// For all later rounds.
    void use(StoreAccess access) { access_ = std::move(access); }
    /// The port of this node's relay in the next round. 0: it cannot have one, which is printed.
    [[nodiscard]] int open_relay();

    /// Starts an empty store for the round if this node serves it, and this node's relay if workers reach the store
    /// through it. A store that no other node uses starts its server
    /// when the first client connects, so that jobs without clients save its cost.
    void prepare(const Assignment& assignment) override;
    /// TORCHELASTIC_USE_AGENT_STORE=False where the store could not be served.
    void contribute(const Assignment& assignment, int local_rank, Contribution& contribution) override;
    /// Closes the store and all its connections.
    void end_round();
    /// Closes the relay: no worker of the round lives.
    void cleared() override { relay_.stop(); }

private:
    [[nodiscard]] base::Result<base::UniqueFd> socket_for(const Assignment& assignment) const;
    void start_store(const Assignment& assignment);
    void start_relay(const Assignment& assignment);
    void start_server();
    [[nodiscard]] std::string trunk_key(const Assignment& assignment) const;
    [[nodiscard]] Warn warn_from_thread() const;

    base::Loop& loop_;
    std::shared_ptr<const Warn> warn_;  ///< callbacks of the server's thread hold it weakly: late lines are dropped
    std::string address_, other_address_;
    bool fixed_port_ = false;
    bool failed_ = false;  ///< the running round has no store of this node
    store::Listener listener_, other_listener_;
    base::UniqueFd socket_;  ///< of the round's store until its server starts
    base::Watch first_client_;
    std::string trunk_key_;  ///< of the round's store; empty: it takes single clients
    std::unique_ptr<store::ThreadedServer> server_;
    StoreAccess access_;
    StoreRelay relay_;
};

}  // namespace dlaunch::agent
