#include "agent/logs/live/progress_line.hpp"

#include <fmt/format.h>

#include <vector>

namespace dlaunch::agent {
namespace {

std::string clock_text(std::chrono::seconds time) {
    const auto all = time.count();
    return all < 3600 ? fmt::format("{}:{:02}", all / 60, all % 60)
                      : fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

std::string silence_text(const Silence& silence) {
    const auto seconds = silence.time.count();
    return seconds < 600 ? fmt::format("{} silent for {} s", silence.ranks, seconds)
                         : fmt::format("{} silent for {} min", silence.ranks, seconds / 60);
}

}  // namespace

std::string progress_line(const JobProgress& job, std::chrono::seconds elapsed, const Silence& silence,
                          std::size_t columns) {
    std::vector<std::string> parts;
    if (job.nodes == 0)
        parts.push_back(job.wanted_nodes > 1 ? fmt::format("waiting for {} nodes", job.wanted_nodes) : "starting");
    else
        parts.push_back(fmt::format("{} of {} workers alive", job.alive, job.workers));
    if (job.nodes > 0 && job.nodes < job.wanted_nodes)
        parts.push_back(fmt::format("{} of {} nodes", job.nodes, job.wanted_nodes));
    if (job.restarts > 0) parts.push_back(fmt::format("restart {} of {}", job.restarts, job.max_restarts));
    if (!silence.ranks.empty()) parts.push_back(silence_text(silence));
    std::string line = clock_text(elapsed);
    for (const std::string& part : parts)
        if (line.size() + 3 + part.size() <= columns) line += " | " + part;
    return line.substr(0, columns);
}

}  // namespace dlaunch::agent
