#pragma once
/// What the launcher needs of the machine, so that everything above it is tested with literals.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/binding/binding.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// For start-up time, functions are called only when an option needs them.
struct Deps {
    agent::Host host;

    std::function<int(std::optional<std::string> cuda_visible_devices)> count_gpus;
    std::function<std::int64_t()> most_processes;  ///< kernel.pid_max
    std::function<base::Result<agent::Topology>(const std::optional<std::string>& cuda_visible_devices)> topology;
    std::function<std::string()> fresh_id;  ///< a new random job id
    std::function<base::Result<std::string>(const std::string& path)> read_file;
    /// The absolute path of `python` in the folder of this called name, where that is the bin of a virtual or conda
    /// environment; else empty.
    std::function<std::string(const std::string& called)> python_beside;
    std::function<std::string(const std::string& path)> why_not_writable;  ///< a reason; empty when it can be written

    std::function<bool(const std::string& path)> is_no_program;  ///< it is there, but cannot be executed
};

[[nodiscard]] Deps deps_of_this_process();

}  // namespace dlaunch::launcher
