#pragma once
/// Answers one question: where is the job's coordinator, and is it this node's part to be it? One interface for all
/// ways of knowing. Everything here blocks as long as the resolver or a file server does: call it aside.

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

/// What a node knows when it asks.
struct Question {
    Endpoints at;                            ///< as the user wrote it
    std::string host_name;                   ///< this node's
    std::string local_addr;                  ///< the address that it is to advertise; empty: choose
    std::string version, job_id;             ///< to know the job's coordinator by
    std::string option = "--rdzv-endpoint";  ///< where the user named the place
    bool may_host = true;                    ///< false: another node does, by its rank or by the user's wish
    bool must_host = false;    ///< is_host=true: believed, where the others reach us under an address that is not ours
    bool should_host = false;  ///< node rank 0 does, and nobody else can
    bool only_look = false;    ///< nothing is claimed for good: it is asked out of curiosity
    Milliseconds node_timeout{5'000};
    std::uint64_t known_epoch = 0;  ///< the highest that this node has met: the next coordinator's is higher
};

/// Where to meet.
struct Found {
    /// Of the coordinator, in the order in which they are to be tried. Empty only when asked out of curiosity: none
    /// yet.
    std::vector<Place> places;
    /// This node is to host the coordinator, and listens already: nobody is refused from now on.
    std::optional<store::Listener> listener;
    std::optional<HeldClaim> claim;  ///< with the listener, where the place is not fixed: the coordinator renews it
    std::uint64_t epoch = 1;         ///< of the coordinator that this node hosts
    bool succeeds = false;           ///< another coordinator of the job may have served before
    std::vector<store::Listener> more_listeners;  ///< at further addresses that the endpoint's name stands for
    std::string advertised;                       ///< this node's address for the others
    std::string bind_to;                          ///< the same as a number
    std::string other;              ///< one of the other kind, IPv6 beside IPv4, which some may need; empty: none
    std::string why;                ///< it is this one, in words
    std::string problem;            ///< with the first place whose name has no address; it may have one later
    bool name_is_loopback = false;  ///< only here the endpoint's name stands for loopback: it is our own
    std::string doubt;              ///< a line for the user: this is hardly what he meant

    [[nodiscard]] bool nowhere() const;  ///< no place has an address
};

class Discovery {
public:
    virtual ~Discovery() = default;

    [[nodiscard]] virtual base::Result<Found> find() = 0;

    /// Whether find() may have another answer later.
    [[nodiscard]] virtual bool moves() const { return false; }
    /// Whether the coordinator's claim is dead, or released, as far as earlier calls of this object can tell. Does not
    /// wait: a standby calls it again and again.
    [[nodiscard]] virtual bool is_vacant() { return false; }
    /// Whether there is no claim at all, as after a job that has ended in order.
    [[nodiscard]] virtual bool is_gone() { return false; }
    /// The highest epoch that this node has met.
    virtual void learn(std::uint64_t) {}

    static constexpr Milliseconds kLookEvery{500};  ///< a standby, at the claim
};

/// By the kind of endpoint.
[[nodiscard]] std::unique_ptr<Discovery> make_discovery(Question question);

}  // namespace dlaunch::rendezvous
