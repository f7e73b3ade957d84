#pragma once
/// `dlaunch ps`, `status`, `logs` and `stop`: this user's jobs on this node.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/jobs/registry.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

struct JobsRequest {
    std::optional<std::string> job;
    std::optional<int> rank;
    bool help = false, json = false, follow = false;
};

/// Reads the words after the command's name: "status", "logs" and so on.
[[nodiscard]] base::Result<JobsRequest> read_jobs_request(std::string_view command,
                                                          const std::vector<std::string>& arguments);

/// Whether this is one of the four commands.
[[nodiscard]] bool is_jobs_command(std::string_view command);

/// Returns the exit status.
int run_jobs_command(std::string_view command, const std::vector<std::string>& arguments, const JobPlaces& places);

}  // namespace dlaunch::launcher
