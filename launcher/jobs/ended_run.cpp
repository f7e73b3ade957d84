#include "launcher/jobs/ended_run.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <vector>

#include "agent/logs/old_runs.hpp"
#include "agent/process/leftovers.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLatest = "latest";

/// Links are followed. None: it is no run.
std::optional<std::string> run_at(const fs::path& path) {
    std::error_code missing;
    const fs::path folder = fs::canonical(path, missing);
    if (missing || !agent::is_run(folder.string())) return std::nullopt;
    return folder.string();
}

std::optional<std::string> newest_ended_run(const std::string& temporary) {
    std::vector<agent::PastRun> runs = agent::past_runs(temporary, agent::is_run_in_tmpdir);
    std::ranges::sort(runs, std::ranges::greater(), &agent::PastRun::changed_ns);
    for (const agent::PastRun& run : runs) {
        const fs::path folder = fs::path(temporary) / run.name;
        if (agent::hold_folder(folder.string())) return run_at(folder);  // else its job still runs
    }
    return std::nullopt;
}

/// None: there is no such run, or several.
std::optional<std::string> only_run_with_title(const fs::path& path, const std::string& temporary) {
    const std::string title = path.filename().string();
    const fs::path below = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::vector<std::string> found;
    const auto look_in = [&](const fs::path& folder, bool (*has_name_of_run)(std::string_view name)) {
        for (const agent::PastRun& run : agent::past_runs(folder.string(), has_name_of_run))
            if (agent::has_title(run.name, title))
                if (auto there = run_at(folder / run.name)) found.push_back(std::move(*there));
    };
    look_in(below, agent::is_run_below_log_dir);
    if (!path.has_parent_path()) look_in(temporary, agent::is_run_in_tmpdir);
    return found.size() == 1 ? std::optional(std::move(found.front())) : std::nullopt;
}

}  // namespace

std::optional<std::string> find_run(const std::optional<std::string>& name, const std::string& temporary) {
    if (!name) return newest_ended_run(temporary);
    for (const fs::path& path : {fs::path(*name), fs::path(*name) / kLatest})
        if (auto run = run_at(path)) return run;
    if (*name == kLatest) return newest_ended_run(temporary);
    if (!agent::is_run_in_tmpdir(*name)) return only_run_with_title(*name, temporary);
    return run_at(fs::path(temporary) / *name);
}

}  // namespace dlaunch::launcher
