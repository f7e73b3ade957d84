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

void TimerTable::feed(std::string_view bytes, std::chrono::system_clock::time_point wall, Time now) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        if (!skipping_) partial_ += piece;
        if (partial_.size() > kMaxLineBytes) {
            skipping_ = true;
            partial_.clear();
        }
        if (end == std::string_view::npos) return;
        if (!skipping_) take(partial_, wall, now);
        partial_.clear();
        skipping_ = false;
        bytes.remove_prefix(end + 1);
    }
}

void TimerTable::take(std::string_view line, std::chrono::system_clock::time_point wall, Time now) {
    auto request = parse(line);
    if (!request) return;
    const auto key = std::make_pair(request->pid, std::move(request->scope));
    if (request->expiration < 0) {
        if (timers_.erase(key) > 0) scope_bytes_ -= key.second.size();
        return;
    }
    const double from_now = request->expiration - std::chrono::duration<double>(wall.time_since_epoch()).count();
    const std::chrono::duration<double> left(std::clamp(from_now, 0.0, kForever));
    if (timers_.count(key) == 0) {
        if (timers_.size() >= kMaxTimers || scope_bytes_ + key.second.size() > kMaxScopeBytes) return;
        scope_bytes_ += key.second.size();
    }
    timers_[key] = {now + std::chrono::duration_cast<Time::duration>(left), request->signal};
}

std::optional<TimerTable::Time> TimerTable::next_deadline() const {
    std::optional<Time> next;
    for (const auto& [key, deadline] : timers_)
        if (!next || deadline.when < *next) next = deadline.when;
    return next;
}

std::vector<ExpiredTimer> TimerTable::expired(Time now, const std::function<bool(pid_t)>& alive) {
    std::vector<std::pair<Time, ExpiredTimer>> due;
    for (const auto& [key, deadline] : timers_)
        if (deadline.when <= now) due.push_back({deadline.when, {key.first, key.second, deadline.signal}});
    std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ExpiredTimer> first;
    for (auto& entry : due) {
        ExpiredTimer& timer = entry.second;
        const bool known =
            std::any_of(first.begin(), first.end(), [&](const ExpiredTimer& other) { return other.pid == timer.pid; });
        forget(timer.pid);
        if (!known && alive(timer.pid)) first.push_back(std::move(timer));
    }
    return first;
}

void TimerTable::forget(pid_t pid) {
    std::erase_if(timers_, [&](const auto& entry) {
        if (entry.first.first != pid) return false;
        scope_bytes_ -= entry.first.second.size();
        return true;
    });
}

}  // namespace dlaunch::agent
