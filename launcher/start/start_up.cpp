#include "launcher/start/start_up.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::launcher {
namespace {

/// Hosts that fail for one reason fail soon after each other: the user learns all their names at once.
constexpr std::chrono::milliseconds kOthersFail{500};

}  // namespace

StartUp::StartUp(const Options& options) : options_(options), hosts_(static_cast<std::size_t>(options.hosts)) {}

int StartUp::count(Host state) const { return static_cast<int>(std::ranges::count(hosts_, state, &Entry::state)); }

int StartUp::count_connected() const { return count(Host::connected); }

std::vector<int> StartUp::missing() const {
    std::vector<int> found;
    for (std::size_t at = 0; at < hosts_.size(); ++at)
        if (hosts_[at].state == Host::waiting || hosts_[at].state == Host::starting)
            found.push_back(static_cast<int>(at));
    return found;
}

std::vector<StartUp::Action> StartUp::start(base::Time now) {
    std::vector<Action> actions;
    start_more(actions, now);
    return actions;
}

void StartUp::start_more(std::vector<Action>& actions, base::Time now) {
    if (state_ == State::failed || fails_at_) return;
    int open = count(Host::starting);
    for (std::size_t at = 0; at < hosts_.size() && open < options_.at_once; ++at) {
        if (hosts_[at].state != Host::waiting) continue;
        hosts_[at].state = Host::starting;
        hosts_[at].due = now + options_.launch_timeout;
        actions.push_back({Action::Kind::start, static_cast<int>(at)});
        ++open;
    }
}

std::vector<StartUp::Action> StartUp::connected(int host, base::Time now) {
    std::vector<Action> actions;
    Entry& entry = hosts_[static_cast<std::size_t>(host)];
    if (entry.state == Host::connected || state_ == State::failed) return actions;
    entry.state = Host::connected;
    if (state_ == State::begun) actions.push_back({Action::Kind::admit, host});
    start_more(actions, now);
    decide(actions, now);
    return actions;
}

std::vector<StartUp::Action> StartUp::failed(int host, const std::string& why, base::Time now) {
    std::vector<Action> actions;
    Entry& entry = hosts_[static_cast<std::size_t>(host)];
    if (entry.state == Host::failed || state_ == State::failed) return actions;
    if (entry.state == Host::connected && state_ == State::begun) return actions;  // the coordinator's loss
    entry.state = Host::failed;
    entry.why = why;
    actions.push_back({Action::Kind::name, host, why});
    decide(actions, now);
    start_more(actions, now);
    return actions;
}

std::vector<StartUp::Action> StartUp::tick(base::Time now) {
    std::vector<Action> actions;
    for (std::size_t at = 0; at < hosts_.size(); ++at) {
        Entry& entry = hosts_[at];
        if (entry.state != Host::starting || entry.due > now || state_ == State::failed) continue;
        const int host = static_cast<int>(at);
        entry.state = Host::failed;
        entry.why = fmt::format("no agent within {:g} s (--launch-timeout)",
                                static_cast<double>(options_.launch_timeout.count()) / 1e3);
        actions.push_back({Action::Kind::give_up, host});
        actions.push_back({Action::Kind::name, host, entry.why});
    }
    decide(actions, now);
    start_more(actions, now);
    return actions;
}

std::vector<StartUp::Action> StartUp::add_host(base::Time now) {
    hosts_.emplace_back();
    std::vector<Action> actions;
    start_more(actions, now);
    return actions;
}

std::vector<StartUp::Action> StartUp::retry(int host, base::Time now) {
    hosts_[static_cast<std::size_t>(host)].state = Host::waiting;
    std::vector<Action> actions;
    start_more(actions, now);
    return actions;
}

void StartUp::decide(std::vector<Action>& actions, base::Time now) {
    if (state_ != State::starting) return;
    const int there = count(Host::connected);
    const int left = there + count(Host::starting) + count(Host::waiting);
    if (left < options_.least && !options_.may_grow) {
        if (!fails_at_) fails_at_ = now + kOthersFail;
        if (now < *fails_at_ && count(Host::starting) > 0) return;
        state_ = State::failed;
        const auto first = std::ranges::find(hosts_, Host::failed, &Entry::state);
        actions.push_back({Action::Kind::fail, static_cast<int>(first - hosts_.begin()),
                           fmt::format("{} of {} hosts cannot be started, the job needs {}", count(Host::failed),
                                       hosts_.size(), options_.least)});
        return;
    }
    if (there < options_.least) {
        last_call_.reset();
        return;
    }
    if (!last_call_) last_call_ = now + options_.last_call;
    const bool may_wait = there < left || options_.may_grow;
    if (there < options_.most && may_wait && now < *last_call_) return;
    state_ = State::begun;
    actions.push_back({Action::Kind::begin});
}

std::optional<base::Time> StartUp::next_deadline() const {
    std::optional<base::Time> due;
    const auto sooner = [&due](base::Time time) { due = due ? std::min(*due, time) : time; };
    for (const Entry& host : hosts_)
        if (host.state == Host::starting) sooner(host.due);
    if (state_ == State::starting && last_call_) sooner(*last_call_);
    if (fails_at_) sooner(*fails_at_);
    return state_ == State::failed ? std::nullopt : due;
}

}  // namespace dlaunch::launcher
