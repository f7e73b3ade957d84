#include "agent/services/timer_table.hpp"

#include <limits.h>
#include <signal.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace dlaunch::agent {

namespace {

/// Writes to a pipe are atomic up to PIPE_BUF; torch's client writes no longer lines.
constexpr std::size_t kMaxLineBytes = PIPE_BUF;

/// Far above any real use. Ignores requests beyond either limit, so that a faulty writer cannot exhaust the agent's
/// memory.
constexpr std::size_t kMaxTimers = 65536, kMaxScopeBytes = 4UL << 20;

/// Seconds; a later deadline would overflow a time_point.
constexpr double kForever = 1e9;

struct Request {
    pid_t pid;
    std::string scope;
    double expiration;
    int signal;
};

std::optional<Request> parse(std::string_view line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const auto pid = json.find("pid"), scope = json.find("scope_id"), expiration = json.find("expiration_time"),
               signal = json.find("signal");
    if (pid == json.end() || !pid->is_number_integer() || expiration == json.end() || !expiration->is_number())
        return std::nullopt;
    const auto number = pid->get<std::int64_t>();
    if (number <= 0 || number > std::numeric_limits<pid_t>::max()) return std::nullopt;
    Request request{static_cast<pid_t>(number), {}, expiration->get<double>(), SIGKILL};
    if (scope != json.end() && scope->is_string()) request.scope = scope->get<std::string>();
    if (signal != json.end() && signal->is_number_integer()) {
        const auto asked = signal->get<std::int64_t>();
        if (asked > 0 && asked <= SIGRTMAX) request.signal = static_cast<int>(asked);
    }
    return request;
}

}  // namespace

void TimerTable::feed(Writer& from, std::string_view bytes, std::chrono::system_clock::time_point wall, Time now) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        if (!from.is_overlong) from.partial += piece;
        if (from.partial.size() > kMaxLineBytes) {
            from.is_overlong = true;
            from.partial.clear();
        }
        if (end == std::string_view::npos) return;
        if (!from.is_overlong) take(from.partial, wall, now);
        from.partial.clear();
        from.is_overlong = false;
        bytes.remove_prefix(end + 1);
    }
}

void TimerTable::take(std::string_view line, std::chrono::system_clock::time_point wall, Time now) {
    auto request = parse(line);
    if (!request) return;
    Key key(request->pid, std::move(request->scope));
    const auto known = timers_.find(key);
    if (request->expiration < 0) {
        if (known != timers_.end()) remove(known);
        return;
    }
    const double from_now = request->expiration - std::chrono::duration<double>(wall.time_since_epoch()).count();
    const std::chrono::duration<double> left(std::clamp(from_now, 0.0, kForever));
    if (known != timers_.end())
        remove(known);
    else if (timers_.size() >= kMaxTimers || scope_bytes_ + key.second.size() > kMaxScopeBytes)
        return;
    scope_bytes_ += key.second.size();
    const Deadline deadline{now + std::chrono::duration_cast<Time::duration>(left), request->signal};
    by_time_.emplace(deadline.when, &timers_.emplace(std::move(key), deadline).first->first);
}

std::optional<TimerTable::Time> TimerTable::next_deadline() const {
    if (by_time_.empty()) return std::nullopt;
    return by_time_.begin()->first;
}

std::vector<ExpiredTimer> TimerTable::expired(Time now, const std::function<bool(pid_t)>& alive) {
    std::vector<ExpiredTimer> first;
    for (std::size_t examined = 0; examined < kMostAtOnce; ++examined) {
        if (by_time_.empty() || by_time_.begin()->first > now) break;
        const Key key = *by_time_.begin()->second;
        const int signal = timers_.at(key).signal;
        forget(key.first);
        if (alive(key.first)) first.push_back({key.first, key.second, signal});
    }
    return first;
}

void TimerTable::forget(pid_t pid) {
    for (auto timer = timers_.lower_bound({pid, ""}); timer != timers_.end() && timer->first.first == pid;)
        timer = remove(timer);
}

std::map<TimerTable::Key, TimerTable::Deadline>::iterator TimerTable::remove(std::map<Key, Deadline>::iterator timer) {
    scope_bytes_ -= timer->first.second.size();
    by_time_.erase({timer->second.when, &timer->first});
    return timers_.erase(timer);
}

}  // namespace dlaunch::agent
