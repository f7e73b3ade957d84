#include "agent/status/events.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace dlaunch::agent {
namespace {

using nlohmann::json;

/// The line that an event becomes.
std::string line_of(std::string_view job, std::string_view event, std::initializer_list<EventLog::Field> fields) {
    std::string written;
    EventLog(job, [&](std::string line) { written += line; }).write(event, fields);
    return written;
}

TEST(EventLog, is_one_line_with_the_fields_in_order) {
    const std::string text = line_of("job \"7\"", "worker_exited",
                                     {{"round", std::int64_t{0}},
                                      {"host", std::string_view("a\n\xFF")},
                                      {"seconds", 1.5},
                                      {"victim", true},
                                      {"bad", std::nan("")}});
    const std::regex line(
        R"(\{"event":"worker_exited","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","monotonic":\d+\.\d{6},"job":"job \\"7\\"",)"
        R"("round":0,"host":"a\\n\\\\xff","seconds":1\.5,"victim":true,"bad":null\}\n)");
    EXPECT_TRUE(std::regex_match(text, line)) << text;
    EXPECT_TRUE(json::accept(text));
}

TEST(EventLog, has_monotonic_time) {
    auto seconds = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    const double before = seconds();
    const double written = json::parse(line_of("j", "e", {}))["monotonic"];
    EXPECT_GE(written, before - 1e-5);
    EXPECT_LE(written, seconds());
}

TEST(EventLog, without_a_sink_formats_nothing) {
    EventLog log;
    log.write("e", {{"a", 1.0}});
}

}  // namespace
}  // namespace dlaunch::agent
