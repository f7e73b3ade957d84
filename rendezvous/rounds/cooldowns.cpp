#include "rendezvous/rounds/cooldowns.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace dlaunch::rendezvous {
namespace {

std::uint32_t in_ms(Time::duration time) {
    return static_cast<std::uint32_t>(
        std::max<std::int64_t>(0, std::chrono::duration_cast<Milliseconds>(time).count()));
}

}  // namespace

void Cooldowns::learn(Time now, const std::vector<HostLosses>& earlier) {
    for (const HostLosses& known : earlier) {
        if (known.ages_ms.size() <= losses(known.host)) continue;
        Host& host = hosts_[known.host] = {};
        for (const std::uint32_t age : known.ages_ms) host.times.push_back(now - Milliseconds(age));
        host.cooldown = Milliseconds(known.cooldown_ms);
        host.until = host.times.back() + host.cooldown;
    }
}

void Cooldowns::lost(Time now, const std::string& name) {
    forget_old(now);
    Host& host = hosts_[name];
    forget_old(now, host);
    host.times.push_back(now);
    if (host.times.size() < kTimes || limits_.first.count() == 0) return;
    host.cooldown =
        std::min(host.cooldown.count() == 0 ? limits_.first : host.cooldown * 2, std::max(limits_.first, limits_.most));
    host.until = now + host.cooldown;
}

bool Cooldowns::forget_old(Time now, Host& host) {
    while (!host.times.empty() && now - host.times.front() >= kWindow) host.times.pop_front();
    if (host.times.size() < kTimes && now >= host.until) host.cooldown = {};
    return host.times.empty() && now >= host.until;
}

/// Examines all hosts, therefore rarely: thousands may be lost at once.
void Cooldowns::forget_old(Time now) {
    if (now < next_look_) return;
    next_look_ = now + kWindow / 10;
    for (auto at = hosts_.begin(); at != hosts_.end();)
        at = forget_old(now, at->second) ? hosts_.erase(at) : std::next(at);
}

Time Cooldowns::admitted_from(const std::string& host) const {
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? Time{} : found->second.until;
}

std::size_t Cooldowns::losses(const std::string& host) const {
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? 0 : found->second.times.size();
}

std::vector<HostLosses> Cooldowns::snapshot(Time now) const {
    std::vector<HostLosses> all;
    for (const auto& [name, host] : hosts_) {
        HostLosses losses{name, {}, static_cast<std::uint32_t>(host.cooldown.count())};
        for (const Time time : host.times) losses.ages_ms.push_back(in_ms(now - time));
        all.push_back(std::move(losses));
    }
    return all;
}

std::vector<HostLosses> Cooldowns::worst(Time now, std::size_t most) const {
    std::vector<HostLosses> all = snapshot(now);
    if (all.size() <= most) return all;
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(most), std::greater{},
                             [](const HostLosses& host) { return host.ages_ms.size(); });
    all.resize(most);
    return all;
}

}  // namespace dlaunch::rendezvous
