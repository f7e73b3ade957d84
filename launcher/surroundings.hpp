#pragma once
/// What the launcher may ask about the world, so that everything above it is tested with literals.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/binding/binding.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Callbacks are asked only when the options make it necessary: start-up time.
struct Surroundings {
    std::vector<std::pair<std::string, std::string>> environment;
    std::string host;      ///< as gethostname says
    int usable_cores = 1;  ///< size of the affinity mask

    std::function<int(std::optional<std::string> cuda_visible_devices)> count_gpus;
    std::function<std::int64_t()> most_processes;  ///< kernel.pid_max
    std::function<base::Result<agent::Topology>()> topology;
    std::function<std::string()> fresh_id;  ///< a new random job id
    std::function<base::Result<std::string>(const std::string& path)> read_file;
    std::function<std::string(const std::string& path)> why_not_writable;  ///< a reason; empty when it can be written

    std::function<bool(const std::string& path)> is_no_program;  ///< it is there, but cannot be executed

    /// None when unset. Empty values are values.
    [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
    /// None when unset or empty.
    [[nodiscard]] std::optional<std::string> set_variable(std::string_view name) const;
};

[[nodiscard]] Surroundings surroundings_of_this_process();

}  // namespace dlaunch::launcher
