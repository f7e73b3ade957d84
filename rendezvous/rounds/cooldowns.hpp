#pragma once
/// Counts the losses of each host, and sets cool-downs after repeated ones. No I/O, no clock.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

class Cooldowns {
public:
    static constexpr std::size_t kTimes = 3;  ///< losses within kWindow that begin a cool-down
    static constexpr auto kWindow = Milliseconds(600'000);

    explicit Cooldowns(CooldownLimits limits) : limits_(limits) {}
    /// Takes over what a predecessor knew; of a host that is known here, the record with more losses.
    void learn(Time now, const std::vector<HostLosses>& earlier);

    /// A member on `host` was lost. The third loss within ten minutes and each further one begins a cool-down, twice as
    /// long as the one before.
    void lost(Time now, const std::string& host);
    /// End of the host's cool-down; in the past: none.
    [[nodiscard]] Time admitted_from(const std::string& host) const;
    [[nodiscard]] std::size_t losses(const std::string& host) const;
    [[nodiscard]] std::vector<HostLosses> snapshot(Time now) const;
    /// The same of the `most` hosts that were lost most often.
    [[nodiscard]] std::vector<HostLosses> worst(Time now, std::size_t most) const;

private:
    struct Host {
        std::deque<Time> times;
        Milliseconds cooldown{0};
        Time until{};
    };
    /// Drops losses outside the window. True: the host's record is empty.
    static bool forget_old(Time now, Host& host);
    void forget_old(Time now);

    CooldownLimits limits_;
    std::map<std::string, Host> hosts_;
    Time next_look_{};  ///< next removal of empty records
};

}  // namespace dlaunch::rendezvous
