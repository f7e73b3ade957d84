#pragma once
/// The deadlines that workers set for themselves, in the format of torch's file timer
/// (torch.distributed.elastic.timer). No I/O.
///
/// A worker writes {"version":1,"pid":..,"scope_id":"..","expiration_time":<epoch seconds>,"signal":9}, one per line;
/// another line with the same pid and scope replaces the deadline, a negative time removes it.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::agent {

struct ExpiredTimer {
    pid_t pid;
    std::string scope;
    int signal;
};

class TimerTable {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// What has arrived of a writer's unfinished line.
    struct Writer {
        std::string partial;
        bool is_overlong = false;  ///< the rest of the line is dropped
    };

    /// Takes bytes in any pieces. Ignores invalid lines. Requests have wall times, the table keeps steady times, so
    /// that setting the clock changes no deadline; `wall` and `now` are the same moment.
    void feed(Writer& from, std::string_view bytes, std::chrono::system_clock::time_point wall, Time now);

    [[nodiscard]] std::optional<Time> next_deadline() const;

    /// The earliest due timer of each process, in the order of time; removes all timers of these processes. Drops
    /// timers of dead processes (`alive` is false). Examines at most kMostAtOnce processes, so that a flood of timers
    /// does not hold the loop: next_deadline() is still due if there are more.
    static constexpr std::size_t kMostAtOnce = 1024;
    [[nodiscard]] std::vector<ExpiredTimer> expired(Time now, const std::function<bool(pid_t)>& alive);

    /// Removes the timers of a dead process, because its pid may be reused.
    void forget(pid_t pid);

    [[nodiscard]] std::size_t size() const { return timers_.size(); }

private:
    using Key = std::pair<pid_t, std::string>;
    struct Deadline {
        Time when;
        int signal;
    };

    void take(std::string_view line, std::chrono::system_clock::time_point wall, Time now);
    /// Removes a timer, and returns the next one.
    std::map<Key, Deadline>::iterator remove(std::map<Key, Deadline>::iterator timer);

    std::map<Key, Deadline> timers_;
    std::set<std::pair<Time, const Key*>> by_time_;  ///< of all timers; the keys are those of `timers_`
    std::size_t scope_bytes_ = 0;                    ///< of all timers' scopes
};

}  // namespace dlaunch::agent
