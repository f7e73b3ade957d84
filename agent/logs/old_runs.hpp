#pragma once
/// Removes the oldest runs of a folder of logs, so that it does not grow without end.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// A run's folder. A run touches its folder at its end.
struct PastRun {
    std::string name;
    std::int64_t changed_ns = 0;  ///< since 1970
};

/// The names of all but the `keep` newest runs, the oldest first.
[[nodiscard]] std::vector<std::string> oldest_runs(std::vector<PastRun> runs, std::size_t keep);

/// Whether dlaunch gives such names to runs: JOB_xxxxxxxx below --log-dir, dlaunch-DATE-PROGRAM-xxxxxxxx in $TMPDIR.
[[nodiscard]] bool is_run_below_log_dir(std::string_view name);
[[nodiscard]] bool is_run_in_tmpdir(std::string_view name);

/// Whether a run with this name is of this job, below --log-dir, or of this program, in $TMPDIR.
[[nodiscard]] bool has_title(std::string_view run, std::string_view title);

/// Whether the folder has attempts, and nothing else.
[[nodiscard]] bool is_run(const std::string& folder);
/// Whether the folder has a run's folder for each host, and nothing else: --collect-logs.
[[nodiscard]] bool is_run_of_hosts(const std::string& folder);

/// The runs of this user in `folder` whose name `has_name_of_run` accepts.
[[nodiscard]] std::vector<PastRun> past_runs(const std::string& folder, bool (*has_name_of_run)(std::string_view name));

/// Removes all but the `keep` newest runs of this user in `folder` whose name is accepted. Spares a folder that
/// another process has locked (a running job), one that cannot be locked, and one with other entries than a run's
/// attempts. A new folder that is still empty is not a run yet.
void remove_old_runs(const std::string& folder, std::size_t keep, bool (*has_name_of_run)(std::string_view name));

}  // namespace dlaunch::agent
