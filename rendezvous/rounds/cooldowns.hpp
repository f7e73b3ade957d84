#pragma once
/// Which hosts were lost how often, and until when such a host is not admitted to a round. No I/O, no clock.

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
    Cooldowns(CooldownLimits limits, Time now, const std::vector<HostLosses>& earlier);

    /// A member on `host` was lost. The third time within ten minutes and each further time begins a cool-down, twice
    /// as long as the one before.
    void lost(Time now, const std::string& host);
    /// From when the host is admitted; in the past where it may come now.
    [[nodiscard]] Time admitted_from(const std::string& host) const;
    [[nodiscard]] std::size_t losses(const std::string& host) const;
    [[nodiscard]] std::vector<HostLosses> snapshot(Time now) const;

private:
    struct Host {
        std::deque<Time> times;
        Milliseconds cooldown{0};
        Time until{};
    };
    void forget_old(Time now);

    CooldownLimits limits_;
    std::map<std::string, Host> hosts_;
};

}  // namespace dlaunch::rendezvous
