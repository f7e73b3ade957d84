#include "agent/status/events.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cmath>
#include <cstring>
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
            line += "null";  // JSON has no word for it
    }
};

}  // namespace

base::Result<EventLog> EventLog::open(const std::string& path, std::string job_id) {
    EventLog log;
    // O_NONBLOCK: a FIFO without a reader must hold nobody. O_RDWR would let it open, but then nobody knows whether it
    // is read.
    log.file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    if (!log.file_) {
        const char* why = errno == ENXIO ? "a FIFO that nobody reads" : std::strerror(errno);
        return base::Error{fmt::format("event log {}: {}", printable(path), why)};
    }
    log.job_id_ = json_string(job_id);
    return log;
}

void EventLog::write(std::string_view event, std::initializer_list<Field> fields) {
    if (!file_) return;
    std::string line = (torn_ ? "\n{\"event\":" : "{\"event\":") + json_string(event);
    append_times(line);
    line += ",\"job\":" + job_id_;
    for (const Field& field : fields) {
        line += ',' + json_string(field.name) + ':';
        std::visit(AppendValue{line}, field.value);
    }
    line += "}\n";
    ssize_t written = 0;
    do written = ::write(file_.get(), line.data(), line.size());
    while (written < 0 && errno == EINTR);
    const bool whole = written == static_cast<ssize_t>(line.size());
    torn_ = written > 0 ? !whole : torn_;
    if (whole || complained_) return;
    complained_ = true;
    complaint_ =
        fmt::format("event log: {}; some events are lost", written < 0 ? std::strerror(errno) : "a line was cut short");
}

std::string EventLog::take_complaint() { return std::exchange(complaint_, {}); }

}  // namespace dlaunch::agent
