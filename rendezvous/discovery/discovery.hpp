#pragma once
/// Finds the job's coordinator, or decides that this node hosts it. One interface for all kinds of endpoint. Calls
/// block as long as the resolver or a file server does: make them in the background.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// Whether this node hosts the coordinator at a fixed endpoint.
enum class Hosting {
    never,         ///< another node hosts: this one has another rank, or is_host=false
    at_own_place,  ///< hosts if the endpoint is an address of this node
    as_first,      ///< hosts as node rank 0, unless the endpoint is elsewhere and a coordinator answers there
    always,        ///< is_host=true: as as_first, for any node, and also where a foreign service answers
};

/// The input of a discovery.
struct DiscoveryRequest {
    Endpoints at;                            ///< as the user wrote them
    std::string host_name;                   ///< this node's
    std::string local_addr;                  ///< address to advertise; empty: choose one
    std::string version, job_id;             ///< a coordinator accepts only equal ones
    auth::TlsContextPtr tls;                 ///< of a job with a token
    std::string option = "--rdzv-endpoint";  ///< the option that named the endpoint, for messages
    Hosting hosting = Hosting::at_own_place;
    bool only_look = false;      ///< `dlaunch check`: claim nothing
    bool ends_with_job = false;  ///< `dlaunch coordinator`: a standby does not begin the job that it has seen again
    Milliseconds node_timeout{5'000};
    std::uint64_t known_epoch = 0;  ///< the highest that this node has seen; the next coordinator's is higher
};

/// The result of a discovery.
struct DiscoveryResult {
    /// Addresses of the coordinator, to be dialed in this order. Empty with only_look, without a coordinator, and with
    /// ends_with_job, when the claim has been removed.
    std::vector<ResolvedEndpoint> places;
    /// Set if this node hosts the coordinator: listens already, so that no dial is refused from now on.
    std::optional<store::Listener> listener;
    std::optional<HeldClaim> claim;  ///< with a listener, if the address is not fixed; the coordinator renews the claim
    std::uint64_t epoch = 1;         ///< of this node's coordinator
    bool succeeds = false;           ///< another coordinator may have served the job before
    std::optional<Snapshot> snapshot;             ///< the latest of that coordinator, which has just handed over
    std::vector<store::Listener> more_listeners;  ///< at further addresses of the endpoint's name
    std::string advertised;                       ///< this node's address for other nodes
    std::string bind_to;                          ///< the same, numeric
    std::string other;                            ///< an address of the other IP version, IPv6 beside IPv4; empty: none
    std::string why;                              ///< the reason for this address, for users
    std::string problem;                          ///< of the first name without an address; may be resolved later
    bool name_is_loopback = false;  ///< the endpoint's name is this host's, and resolves to loopback only on this host
    std::string port_owner;         ///< the process on this node that has the coordinator's port, if another service
    std::string warning;            ///< for the user: the options probably contain a mistake

    [[nodiscard]] bool has_no_address() const;  ///< no name has resolved yet
};

class Discovery {
public:
    virtual ~Discovery() = default;

    [[nodiscard]] virtual base::Result<DiscoveryResult> find() = 0;

    /// Whether find() may return another address later.
    [[nodiscard]] virtual bool moves() const { return false; }
    /// Whether a later find() may decide that this node hosts: its own name may not resolve yet, or wrongly.
    [[nodiscard]] virtual bool may_host_later() const { return false; }
    /// Whether the coordinator's claim is dead or released, judged by the changes that this object's calls have seen.
    /// Does not wait: a standby polls it.
    [[nodiscard]] virtual bool is_vacant() { return false; }
    /// Waits until a living owner would have claimed again. True: there is no claim at any time until then.
    [[nodiscard]] virtual bool stays_gone() { return false; }
    /// Records an epoch that this node has seen, and the time for which it leaves a take-over to other nodes.
    virtual void learn(std::uint64_t, Milliseconds) {}

    /// The port at which a take-over by this node will serve, if the coordinator's place may move: bound to this
    /// numeric address until then, but without a listener. 0: none.
    [[nodiscard]] virtual int reserve_port(const std::string& /*address*/) { return 0; }

    /// A standby without workers: whether find() should be called, because the claim is free or was not renewed lately.
    [[nodiscard]] virtual bool may_be_vacant() { return false; }

    // A standby that does nothing else looks most often, and so takes over first, a spare before members of the round.
    static constexpr Milliseconds kLookEvery{250}, kLookAlwaysEvery{100};
    static constexpr Milliseconds kSparesWait{200}, kMembersWait{400};
};

/// Chooses the discovery for the kind of endpoint.
[[nodiscard]] std::unique_ptr<Discovery> make_discovery(DiscoveryRequest request);

}  // namespace dlaunch::rendezvous
