#include "agent/status/events.hpp"

#include <fmt/format.h>
#include <time.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "agent/errors/escape.hpp"

namespace dlaunch::agent {

namespace {

timespec now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time;
}

void append_times(std::string& line) {
    const timespec wall = now(CLOCK_REALTIME), monotonic = now(CLOCK_MONOTONIC);
    tm utc{};
    ::gmtime_r(&wall.tv_sec, &utc);
    fmt::format_to(std::back_inserter(line),
                   R"(,"time":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z","monotonic":{}.{:06})", utc.tm_year + 1900,
                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, wall.tv_nsec / 1'000'000,
                   monotonic.tv_sec, monotonic.tv_nsec / 1000);
}

struct AppendValue {
    std::string& line;

    void operator()(std::string_view text) const { line += json_string(text); }
    void operator()(std::int64_t number) const { fmt::format_to(std::back_inserter(line), "{}", number); }
    void operator()(bool truth) const { line += truth ? "true" : "false"; }
    void operator()(double number) const {
        if (std::isfinite(number))
            fmt::format_to(std::back_inserter(line), "{}", number);
        else
            line += "null";  // JSON has no infinities and no NaN
    }
};

}  // namespace

EventLog::EventLog(std::string_view job_id, Sink sink) : job_id_(json_string(job_id)), sink_(std::move(sink)) {}

void EventLog::write(std::string_view event, std::initializer_list<Field> fields) {
    if (!sink_) return;
    std::string line = "{\"event\":" + json_string(event);
    append_times(line);
    line += ",\"job\":" + job_id_;
    for (const Field& field : fields) {
        line += ',' + json_string(field.name) + ':';
        std::visit(AppendValue{line}, field.value);
    }
    line += "}\n";
    sink_(std::move(line));
}

}  // namespace dlaunch::agent
