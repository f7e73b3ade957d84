#include "rendezvous/base/utc.hpp"

#include <fmt/format.h>

#include <ctime>

namespace dlaunch::base {

std::string utc_text(std::chrono::system_clock::time_point when) {
    const auto second = std::chrono::floor<std::chrono::seconds>(when);
    const std::time_t seconds = std::chrono::system_clock::to_time_t(second);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       std::chrono::floor<std::chrono::milliseconds>(when - second).count());
}

}  // namespace dlaunch::base
