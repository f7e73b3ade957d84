#pragma once
/// SLURM may signal the workers, too: with proctrack/linuxproc it signals every process of a step, at scancel, at
/// --signal and at a time limit. Decides when the agent sends the workers such a signal, so that they receive it once.
/// No clock.

#include <chrono>
#include <map>
#include <optional>

#include "rendezvous/base/time.hpp"

namespace dlaunch::agent {

class SharedSignals {
public:
    static constexpr int kAnyEnd = 0;  ///< in place of a number: any signal that asks for the end
    static constexpr auto kSenderMayTake = std::chrono::milliseconds(200);  ///< from a step's first node to its last
    static constexpr auto kSameRequest = std::chrono::milliseconds(1000);
    static constexpr auto kMayBeLate = std::chrono::milliseconds(300);  ///< behind the agent's own signal

    /// dlaunch is asked for this signal by a sender that may signal the workers, too.
    void requested(int number, base::Time now) { sender_until_[number] = now + kSenderMayTake; }
    /// The sender has signalled the workers. It may come so late that the agent has sent the signal: then this answers
    /// no later request.
    void sent(int number, base::Time now) {
        const auto own = sent_by_agent_.find(number);
        if (own == sent_by_agent_.end() || now - own->second >= kMayBeLate) sent_[number] = now;
    }
    /// The agent has waited in vain, and has sent the signal.
    void sent_by_agent(int number, base::Time now) { sent_by_agent_[number] = now; }

    /// When the agent sends the workers this signal; none: they have received it. Each sent() answers one request.
    [[nodiscard]] std::optional<base::Time> due(int number, base::Time now) {
        const auto sent = sent_.extract(number);
        if (!sent.empty() && now - sent.mapped() < kSameRequest) return std::nullopt;
        const auto until = sender_until_.find(number);
        return until != sender_until_.end() && until->second > now ? until->second : now;
    }

private:
    std::map<int, base::Time> sender_until_, sent_, sent_by_agent_;  ///< by number
};

}  // namespace dlaunch::agent
