#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/errors/failure.hpp"
#include "agent/logs/run_paths.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Writes the log files that nodes send into RUN/HOST/attempt_N/LOCAL_RANK/. Blocks as long as the disk does.
class CollectedLogs {
public:
    /// `folder`: of the run, agent::RunDirectory.
    explicit CollectedLogs(std::string folder) : folder_(std::move(folder)) {}

    /// The following bytes of this host belong to the file. Returns a warning, or an empty text.
    [[nodiscard]] std::string begin_file(int number, const std::string& host, const std::string& path);
    [[nodiscard]] std::string add(int number, std::string_view bytes);

private:
    [[nodiscard]] std::string fail(const std::string& path);

    const std::string folder_;
    std::map<int, base::UniqueFd> open_;  ///< by number of the host
    bool has_failed_ = false;             ///< a warning was given
};

/// The failure's files as they are named here; on the node they are gone when the job has ended.
void name_collected_files(agent::Failure& failure, const agent::RunPaths& run);

/// Whether a path from a node stays below the folder to which it is appended.
[[nodiscard]] bool is_safe_below(std::string_view path);

}  // namespace dlaunch::launcher
