#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/logs/run_paths.hpp"
#include "agent/logs/warnings.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// `text` as one component of a path: no slashes, blanks or control characters, no leading dot, at most 100 bytes,
/// never empty.
[[nodiscard]] std::string safe_file_name(std::string_view text);

/// The tree of a job's files on this node:
///
///     <log dir>/latest -> <job id>_<8 random characters>
///     <log dir>/latest-<host>, on a job of several nodes: each of them replaces `latest`
///     <log dir>/<job id>_<8 random characters>/attempt_N/<local rank>/
///                                              attempt_N/by-rank/<rank>-<host> -> ../<local rank>
///
/// The folder of a template (local rank -1) lies in the attempt that started the template: attempt_N/template/.
///
/// A job that keeps no files has one temporary folder for all error files, since making a folder costs a tenth of a
/// worker's start.
class RunDirectory {
public:
    explicit RunDirectory(Warnings& warnings) : warnings_(warnings) {}

    struct Wanted {
        std::string log_directory;  ///< empty: a new folder in `temporary`, without a tree when no files are kept
        std::string temporary;      ///< $TMPDIR; empty: /tmp
        std::string job_id;
        std::string host;  ///< if nodes of the job may share the log directory; else empty
        bool keeps_files = false;
    };
    /// Makes the log directory with its parents, the run's folder in it and the links.
    [[nodiscard]] base::Result<void> make(const Wanted& wanted);

    [[nodiscard]] const RunPaths& paths() const { return paths_; }

    /// Makes the folder of an attempt; warns where that fails.
    void make_attempt(int number, bool with_links);

    /// Makes a worker's folder in the attempt made last, and its link when `link` is not empty.
    void make_worker(int local_rank, const std::string& link);

    /// Removes the whole tree; only for a log directory that make() invented.
    void remove();
    /// Closes the descriptor of the folder. After remove() the disk frees the folder now.
    void close() { lock_.reset(); }
    [[nodiscard]] bool is_temporary() const { return !invented_.empty(); }

private:
    [[nodiscard]] base::Result<void> make_run_folder(const std::string& log_directory, const Wanted& wanted);
    void link_latest(const std::string& log_directory, const std::string& link, const std::string& name);

    Warnings& warnings_;
    RunPaths paths_;
    std::string invented_;  ///< the log directory, when make() has made it in $TMPDIR
    int attempt_number_ = -1;
    base::UniqueFd lock_;  ///< on a folder of error files alone: marks this run as alive for the cleanup of later runs
    base::UniqueFd attempt_;  ///< the attempt's folder: shorter paths for many workers
};

}  // namespace dlaunch::agent
