#pragma once
/// Finds the job's coordinator, or decides that this node hosts it. One interface for all kinds of endpoint. Calls
/// block as long as the resolver or a file server does: make them in the background.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

/// Whether this node hosts the coordinator at a fixed endpoint.
enum class Hosting {
    never,         ///< another node hosts, by its rank or by is_host=false
    at_own_place,  ///< the node hosts whose address the endpoint names
    as_first,      ///< node rank 0 hosts, also elsewhere unless a coordinator answers at the endpoint
    always,        ///< is_host=true: this node hosts even if the endpoint is no address of it
};

/// The input of a discovery.
struct Question {
    Endpoints at;                            ///< as the user wrote them
    std::string host_name;                   ///< this node's
    std::string local_addr;                  ///< address to advertise; empty: choose one
    std::string version, job_id;             ///< by which a coordinator recognizes its job
    std::string option = "--rdzv-endpoint";  ///< the option that named the endpoint, for messages
    Hosting hosting = Hosting::at_own_place;
    bool only_look = false;  ///< `dlaunch check`: claim nothing
    Milliseconds node_timeout{5'000};
    std::uint64_t known_epoch = 0;  ///< the highest that this node has seen; the next coordinator's is higher
};

/// The result of a discovery.
struct Found {
    /// Where to dial the coordinator, in this order. Empty only with only_look, when there is no coordinator yet.
    std::vector<ResolvedEndpoint> places;
    /// This node hosts the coordinator, and listens already, so that no dial is refused from now on.
    std::optional<store::Listener> listener;
    std::optional<HeldClaim> claim;  ///< with a listener, where the place is not fixed; the coordinator renews it
    std::uint64_t epoch = 1;         ///< of this node's coordinator
    bool succeeds = false;           ///< another coordinator may have served the job before
    std::vector<store::Listener> more_listeners;  ///< at further addresses of the endpoint's name
    std::string advertised;                       ///< this node's address for other nodes
    std::string bind_to;                          ///< the same, numeric
    std::string other;                            ///< an address of the other IP version, IPv6 beside IPv4; empty: none
    std::string why;                              ///< why this address was chosen, for users
    std::string problem;                          ///< of the first name without an address; may be resolved later
    bool name_is_loopback = false;  ///< the endpoint's name is this host's, and resolves to loopback only on this host
    std::string warning;            ///< for the user: the options probably contain a mistake

    [[nodiscard]] bool nowhere() const;  ///< no place has an address yet
};

class Discovery {
public:
    virtual ~Discovery() = default;

    [[nodiscard]] virtual base::Result<Found> find() = 0;

    /// Whether find() may return another place later.
    [[nodiscard]] virtual bool moves() const { return false; }
    /// Whether the coordinator's claim is dead or released, judged by the changes that this object's calls have seen.
    /// Does not wait: a standby polls it.
    [[nodiscard]] virtual bool is_vacant() { return false; }
    /// Whether there is no claim at all, as after the end of a job.
    [[nodiscard]] virtual bool is_gone() { return false; }
    /// Records an epoch that this node has seen.
    virtual void learn(std::uint64_t) {}

    static constexpr Milliseconds kLookEvery{500};  ///< period of a standby's looks at the claim
};

/// Chooses the discovery for the kind of endpoint.
[[nodiscard]] std::unique_ptr<Discovery> make_discovery(Question question);

}  // namespace dlaunch::rendezvous
