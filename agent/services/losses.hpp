#pragma once
/// Loss notices: each follower on the agent's socket (request "losses") receives a line for each loss of the running
/// round, including earlier ones, until the agent closes it or the follower closes both directions:
///
///     lost FIRST COUNT REASON      ranks FIRST to FIRST + COUNT - 1 have died
///
/// The round's lines are kept once, and each follower has a position in them: a slow or late follower misses no line
/// and costs no memory.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/services/round_service.hpp"
#include "agent/services/socket.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

class LossNotices final : public RoundService {
public:
    /// `loop` and `socket` must outlive this object.
    LossNotices(base::Loop& loop, AgentSocket& socket);

    /// Begins a round without losses, and drops the last round's followers.
    void prepare(const Assignment& assignment) override;
    /// Drops a repetition: the coordinator's order to stop repeats this node's own failure.
    void report(const rendezvous::LostRanks& ranks, std::string_view reason);

    [[nodiscard]] std::size_t followers() const { return followers_.size(); }

private:
    struct Follower {
        base::UniqueFd connection;
        base::Watch watch;
        enum class Awaits { bytes, end, room } awaits = Awaits::bytes;  ///< of `watch`
        bool is_half_closed = false;                                    ///< it sends nothing more
        std::size_t sent = 0;                                           ///< position in lines_
    };
    using Followers = std::map<int, Follower>;  // by descriptor

    void follow(base::UniqueFd connection);
    /// False: the connection has closed.
    [[nodiscard]] bool send_lines(Follower& follower);
    void watch(Follower& follower, Follower::Awaits awaits);
    void on_ready(int descriptor);
    [[nodiscard]] static bool discard_bytes(Follower& follower);

    base::Loop& loop_;
    std::string lines_;
    std::set<std::pair<int, int>> reported_;  ///< first rank and count of each loss of the round
    Followers followers_;
};

}  // namespace dlaunch::agent
