#pragma once
/// The endpoint names fixed addresses. The node with the first address hosts; the other addresses are alternative
/// routes to that node.

#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::rendezvous {

class FixedDiscovery : public Discovery {
public:
    explicit FixedDiscovery(DiscoveryRequest request) : request_(std::move(request)) {}
    [[nodiscard]] base::Result<DiscoveryResult> find() override;
    [[nodiscard]] bool may_host_later() const override { return request_.hosting != Hosting::never; }

private:
    [[nodiscard]] DiscoveryResult look_up(std::vector<std::string>& own, std::vector<std::string>& towards) const;
    [[nodiscard]] bool hosts_elsewhere(DiscoveryResult& found) const;
    [[nodiscard]] base::Result<DiscoveryResult> host(DiscoveryResult found, const std::vector<std::string>& own) const;

    DiscoveryRequest request_;
};

/// Chooses the address that this node advertises, and records why. `own` is this node's address named by the endpoint,
/// `towards` its address on the route to the coordinator; either may be empty.
[[nodiscard]] base::Result<void> choose_address(const DiscoveryRequest& request, const std::string& own,
                                                const std::string& towards, DiscoveryResult& found);

}  // namespace dlaunch::rendezvous
