/// Limits the requests to the discovery after the loss of a coordinator: three standbys watch the claim, and one of
/// them takes over. All other members dial the standbys, because thousands of requests would overload a service.

#include <utility>
#include <vector>

#include "agent/membership/job_membership.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

/// The coordinator that names them is the one at the link's address, which a dial of a standby may have found.
void JobMembership::name_standbys(const r::Member::NameStandbys& named) {
    is_standby_ = named.is_one;
    ask_pauses_.joined(named.is_one);
    places_ = {link_->place()};
    standbys_.clear();
    for (const r::StandbyPlace& place : named.others) {
        const std::string host = r::in_our_scope(place.host, bind_to_);
        standbys_.push_back({{host, place.port}, r::is_numeric(host) ? host : std::string()});
    }
    link_->set_standbys(standbys_);
}

/// The connection is lost, or has not received a Welcome yet: repeats the discovery after a pause.
void JobMembership::locate_later() {
    answered_ = false;
    if (alone_ || over_ || !discovery_->moves() || again_timer_ || finding_.busy()) return;
    again_timer_ = loop_.after(ask_pauses_.next(plan_.rendezvous.node_timeout, base::random_number()), [this] {
        again_timer_ = {};
        if (!answered_ && !over_) locate_again();
    });
}

/// A standby detects a loss before its own connection times out.
void JobMembership::watch_claim() {
    watch_timer_ = loop_.after(r::Discovery::kLookEvery, [this] {
        if (!is_standby_ || finding_.busy()) return watch_claim();
        watching_ = base::Background(loop_, [this, discovery = discovery_]() -> std::function<void()> {
            const bool is_vacant = discovery->is_vacant();
            return [this, is_vacant] {
                watching_ = {};
                if (over_) return;
                if (is_vacant) locate_again();
                watch_claim();
            };
        });
    });
}

}  // namespace dlaunch::agent
