#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Decides when which host is started, when the job begins, and when the start has failed. No I/O, no clock.
///
/// At most `at_once` logins are open. The job begins when `most` agents are there; or when no host is left to wait for
/// and `least` are there; or when `last_call` has passed since then. Agents that come later are spares or newcomers,
/// which the coordinator admits.
class StartUp {
public:
    struct Options {
        int hosts = 1;                                     ///< in all, by index from 0
        int least = 1, most = 1;                           ///< agents: --nnodes
        int at_once = 128;                                 ///< logins that have neither an agent nor an end
        std::chrono::milliseconds launch_timeout{60'000};  ///< for a host, from its login's start
        std::chrono::milliseconds last_call{30'000};
        bool may_grow = false;  ///< further hosts may come: too few are no failure
    };

    struct Action {
        enum class Kind : unsigned char {
            start,    ///< log in to `host`
            give_up,  ///< end the login of `host`, which took too long
            name,     ///< tell the user that `host` failed, and `text`
            begin,    ///< the job begins with the agents that are there
            admit,    ///< the agent of `host` comes after begin
            fail,     ///< too few hosts are left; `text` says which failed
        };
        Kind kind = Kind::start;
        int host = -1;
        std::string text{};
        bool operator==(const Action&) const = default;
    };

    explicit StartUp(const Options& options);

    /// The first logins. Every event returns what to do next, in order.
    [[nodiscard]] std::vector<Action> start(base::Time now);
    [[nodiscard]] std::vector<Action> connected(int host, base::Time now);
    /// The login of a host has ended without an agent, or its agent was lost before the job began.
    [[nodiscard]] std::vector<Action> failed(int host, const std::string& why, base::Time now);
    [[nodiscard]] std::vector<Action> tick(base::Time now);
    /// Another host, with the next index.
    [[nodiscard]] std::vector<Action> add_host(base::Time now);
    /// A failed host is started again.
    [[nodiscard]] std::vector<Action> retry(int host, base::Time now);

    /// When tick() has work; none: never.
    [[nodiscard]] std::optional<base::Time> next_deadline() const;
    [[nodiscard]] bool has_begun() const { return state_ != State::starting; }
    [[nodiscard]] int count_connected() const;
    /// The login of the host has ended: an agent that connects later is not accepted.
    [[nodiscard]] bool has_failed(int host) const {
        return hosts_[static_cast<std::size_t>(host)].state == Host::failed;
    }
    /// Hosts without an agent and without an end, in order.
    [[nodiscard]] std::vector<int> missing() const;

private:
    enum class Host : unsigned char { waiting, starting, connected, failed };
    enum class State : unsigned char { starting, begun, failed };
    struct Entry {
        Host state = Host::waiting;
        base::Time due{};  ///< while starting
        std::string why;   ///< of the failure
    };

    void decide(std::vector<Action>& actions, base::Time now);
    void start_more(std::vector<Action>& actions, base::Time now);
    [[nodiscard]] int count(Host state) const;

    const Options options_;
    std::vector<Entry> hosts_;
    State state_ = State::starting;
    std::optional<base::Time> last_call_;
    std::optional<base::Time> fails_at_;  ///< too few hosts are left
};

}  // namespace dlaunch::launcher
