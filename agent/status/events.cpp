#include "agent/status/events.hpp"

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {

namespace {

using base::json_string;

void append_times(std::string& line) {
    timespec monotonic{};
    ::clock_gettime(CLOCK_MONOTONIC, &monotonic);
    fmt::format_to(std::back_inserter(line), R"(,"time":"{}","monotonic":{}.{:06})",
                   base::utc_text(std::chrono::system_clock::now()), monotonic.tv_sec, monotonic.tv_nsec / 1000);
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

void EventLog::write(std::string_view event, std::initializer_list<Field> fields, std::initializer_list<Field> more) {
    if (!sink_) return;
    std::string line = "{\"event\":" + json_string(event);
    append_times(line);
    line += ",\"job\":" + job_id_;
    for (const auto& all : {fields, more})
        for (const Field& field : all) {
            line += ',' + json_string(field.name) + ':';
            std::visit(AppendValue{line}, field.value);
        }
    line += "}\n";
    sink_(std::move(line));
}

void EventLog::write_job_ended(int status, double seconds, std::string_view reason) {
    write("job_ended", {{"status", std::int64_t{status}}, {"seconds", seconds}, {"reason", reason}});
}

}  // namespace dlaunch::agent
