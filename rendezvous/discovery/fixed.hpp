#pragma once
/// The user has named the places. The node that has the first one's address hosts; the others are further ways to it.

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

/// Fills in which address of this node the others are told, and why. `towards` is the coordinator's address or empty,
/// `own` the address of ours that the endpoint names or empty.
[[nodiscard]] base::Result<void> choose_address(const Question& question, const std::string& own,
                                                const std::string& towards, Found& found);

}  // namespace dlaunch::rendezvous
