#include "rendezvous/base/utc.hpp"

#include <fmt/format.h>

#include <ctime>

namespace dlaunch::base {
namespace {

std::tm parts_of(std::chrono::system_clock::time_point when) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(when));
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return parts;
}

}  // namespace

std::string utc_text(std::chrono::system_clock::time_point when) {
    const auto second = std::chrono::floor<std::chrono::seconds>(when);
    const std::tm parts = parts_of(when);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       std::chrono::floor<std::chrono::milliseconds>(when - second).count());
}

std::string utc_file_name(std::chrono::system_clock::time_point when) {
    const std::tm parts = parts_of(when);
    return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace dlaunch::base
