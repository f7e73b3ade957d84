#pragma once
/// The endpoint names fixed places. The node with the first place's address hosts; the other places are alternative
/// routes to it.

#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::rendezvous {

class FixedDiscovery : public Discovery {
public:
    explicit FixedDiscovery(Question question) : question_(std::move(question)) {}
    [[nodiscard]] base::Result<Found> find() override;

private:
    [[nodiscard]] Found look_up(std::vector<std::string>& own, std::vector<std::string>& towards) const;
    [[nodiscard]] bool hosts_elsewhere(Found& found) const;
    [[nodiscard]] base::Result<Found> host(Found found, const std::vector<std::string>& own) const;

    Question question_;
};

/// Chooses the address that this node advertises, and records why. `own` is this node's address named by the endpoint,
/// `towards` its address on the route to the coordinator; either may be empty.
[[nodiscard]] base::Result<void> choose_address(const Question& question, const std::string& own,
                                                const std::string& towards, Found& found);

}  // namespace dlaunch::rendezvous
