#include "launcher/slurm/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "launcher/cli/split.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/hosts/host_list.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::int64_t kMostTasks = 65'536;          // of a node
constexpr std::size_t kMostNodes = 65'536;           // of a step
constexpr std::int64_t kMostId = 0xffff'ffff;        // SLURM's ids have 32 bits
constexpr std::int64_t kFirstOtherId = 0xffff'fff0;  // batch script, interactive shell and the like: no steps of srun's

Error wrong(std::string_view name, const std::optional<std::string>& value, std::string_view expected) {
    const std::string found = value ? fmt::format("{}={}", name, *value) : fmt::format("{} is not set", name);
    return {fmt::format("{}, expected {} in a step of SLURM, or --standalone", found, expected)};
}

/// A number from 0 to below `limit`.
Result<int> index(std::string_view name, const std::optional<std::string>& value, std::size_t limit,
                  std::string_view of) {
    const auto number = whole_number(value.value_or(""), 0, static_cast<std::int64_t>(limit) - 1);
    if (!number) return wrong(name, value, fmt::format("a number below {}, the number of {}", limit, of));
    return static_cast<int>(*number);
}

/// The list of a heterogeneous job is sorted by name; SLURM_NODEID follows its components, so the name takes
/// precedence.
Result<int> node_index(const agent::Host& host, const std::vector<std::string>& hosts) {
    const auto own = std::ranges::find(hosts, host.variable("SLURMD_NODENAME").value_or(""));
    if (own != hosts.end()) return static_cast<int>(own - hosts.begin());
    return index("SLURM_NODEID", host.variable("SLURM_NODEID"), hosts.size(), "nodes");
}

Result<void> read_nodes(const agent::Host& host, SlurmStep& step) {
    const auto list = host.set_variable("SLURM_STEP_NODELIST"), tasks = host.set_variable("SLURM_STEP_TASKS_PER_NODE");
    if (!list) return wrong("SLURM_STEP_NODELIST", list, "the names of the nodes");
    auto hosts = parse_host_names(*list);
    if (!hosts) return hosts.error().within("SLURM_STEP_NODELIST");
    step.hosts = std::move(*hosts);
    auto counts = parse_tasks_per_node(tasks.value_or(""));
    if (!counts || counts->size() != step.hosts.size())
        return wrong("SLURM_STEP_TASKS_PER_NODE", tasks,
                     fmt::format("numbers of tasks such as 2(x3),1 for each of {} nodes", step.hosts.size()));
    step.tasks = std::move(*counts);
    return {};
}

}  // namespace

int SlurmStep::port() const {
    constexpr std::int64_t kFirst = 20'000, kCount = 9'000;  // torchrun's ports are above, at 29400 and 29500
    constexpr std::int64_t kStepsApart = 101;  // prime to kCount; a job rarely runs so many steps at the same time
    const auto job = whole_number(job_id, 0, kMostId).value_or(0),
               number = whole_number(step_id, 0, kMostId).value_or(0);
    return static_cast<int>(kFirst + (job * kStepsApart + number) % kCount);
}

std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text) {
    std::vector<int> tasks;
    for (std::string_view part : split(text, ',')) {
        const std::size_t open = part.find("(x");
        const bool repeats = open != part.npos;
        if (repeats && !part.ends_with(')')) return std::nullopt;
        const auto count = whole_number(part.substr(0, open), 1, kMostTasks);
        const auto nodes = repeats ? whole_number(part.substr(open + 2, part.size() - open - 3), 1, kMostNodes)
                                   : std::optional<std::int64_t>(1);
        if (!count || !nodes || tasks.size() + static_cast<std::size_t>(*nodes) > kMostNodes) return std::nullopt;
        tasks.insert(tasks.end(), static_cast<std::size_t>(*nodes), static_cast<int>(*count));
    }
    return tasks;
}

Result<std::optional<SlurmStep>> slurm_step(const agent::Host& host) {
    const auto job = host.set_variable("SLURM_JOB_ID"), number = host.set_variable("SLURM_STEP_ID");
    if (!job || !number) return std::optional<SlurmStep>();
    SlurmStep step{.job_id = *job, .step_id = *number};
    if (!whole_number(*job, 0, kMostId)) return wrong("SLURM_JOB_ID", job, "a number");
    const auto id = whole_number(*number, 0, kMostId);
    if (!id) return wrong("SLURM_STEP_ID", number, "a number");
    if (*id >= kFirstOtherId) return std::optional<SlurmStep>();
    if (auto read = read_nodes(host, step); !read) return read.error();
    auto node = node_index(host, step.hosts);
    if (!node) return node.error();
    step.node = *node;
    auto task = index("SLURM_LOCALID", host.variable("SLURM_LOCALID"), static_cast<std::size_t>(step.tasks_here()),
                      "tasks on this node");
    if (!task) return task.error();
    step.local_task = *task;
    return std::optional(std::move(step));
}

}  // namespace dlaunch::launcher
