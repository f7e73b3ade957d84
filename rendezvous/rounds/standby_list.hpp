#pragma once
/// Chooses the standbys of a coordinator that may move: spares in the order of their arrival, then members of the round
/// in the order of their ranks. Nodes of the coordinator's own host come last, because they may be lost with it. No
/// I/O, no clock.

#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class StandbyList {
public:
    explicit StandbyList(std::string host) : host_(std::move(host)) {}

    /// After each change of the nodes or of the round. True: there are other standbys now. The cost of a join does not
    /// grow with the number of nodes.
    [[nodiscard]] bool renew(const Roster& roster, std::int32_t round);
    [[nodiscard]] std::vector<StandbyPlace> places(const Roster& roster) const;
    [[nodiscard]] bool empty() const { return ids_.empty(); }

private:
    [[nodiscard]] bool suffices(const Roster& roster) const;

    const std::string host_;        ///< of the coordinator
    std::vector<std::string> ids_;  ///< of the nodes, at most Standbys::kMost
    std::uint64_t revision_ = 0;    ///< of the roster at the latest renew()
    std::int32_t round_ = -1;       ///< likewise
};

}  // namespace dlaunch::rendezvous
