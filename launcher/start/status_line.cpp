#include "launcher/start/status_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kLongestName = 40;

}  // namespace

std::string status_line(std::string_view doing, std::size_t hosts, std::span<const std::string_view> awaited,
                        std::chrono::seconds since, std::size_t columns) {
    const std::string end = fmt::format(" ({} s)", since.count());
    std::string line = fmt::format("{}: {} of {} hosts, waiting for", doing, hosts - awaited.size(), hosts);
    constexpr std::string_view kMore = ", ...";
    for (std::size_t at = 0; at < awaited.size(); ++at) {
        const std::string name = base::printable(awaited[at].substr(0, kLongestName));
        const bool is_last = at + 1 == awaited.size();
        if (at > 0 && line.size() + name.size() + (is_last ? 0 : kMore.size()) + 2 + end.size() > columns)
            return (line + std::string(kMore) + end).substr(0, columns);
        line += (at == 0 ? " " : ", ") + name;
    }
    return (line + end).substr(0, columns);
}

std::string stopping_line(std::string_view reason, std::chrono::seconds since, std::size_t columns) {
    const std::string end = fmt::format(" ({} s)", since.count());
    std::string line = "stopping all workers";
    if (!reason.empty()) line += ": " + base::printable(reason);
    if (line.size() + end.size() > columns) {
        constexpr std::string_view kCut = " ...";
        const std::size_t space = columns - std::min(columns, end.size() + kCut.size());
        line = base::printable(line.substr(0, space)) + std::string(kCut);
    }
    return (line + end).substr(0, columns);
}

}  // namespace dlaunch::launcher
