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
/// Without a log directory the run's folder is $TMPDIR/dlaunch-<date>-<program>-<8 random characters>.
///
/// The folder of a template (local rank -1) lies in the attempt that started the template: attempt_N/template/.
///
/// A job that keeps no files has one temporary folder for all error files, since making a folder costs a tenth of a
/// worker's start.
class RunDirectory {
public:
    explicit RunDirectory(Warnings& warnings) : warnings_(warnings) {}

    struct Wanted {
        const LogPlan& plan;    ///< without a directory the run's folder is made in `temporary`
        std::string temporary;  ///< $TMPDIR; empty: /tmp
        std::string job_id;
        std::string program;  ///< part of the run's name in `temporary`
        std::string host;     ///< if nodes of the job may share the log directory; else empty
    };
    /// Makes the log directory with its parents, the run's folder in it and the links.
    [[nodiscard]] base::Result<void> make(const Wanted& wanted);

    [[nodiscard]] const RunPaths& paths() const { return paths_; }

    /// Makes the folder of an attempt; warns where that fails.
    void make_attempt(int number, bool with_links);

    /// Makes a worker's folder in the attempt made last, and its link when `link` is not empty.
    void make_worker(int local_rank, const std::string& link);

    /// Removes the whole tree; only for a folder in $TMPDIR.
    void remove();
    /// The end of the run, which becomes the newest one. Removes the oldest runs beside it, and closes the descriptor
    /// of the folder: after remove() the disk frees the folder now.
    void close();
    [[nodiscard]] bool is_temporary() const { return !invented_.empty(); }

private:
    void remove_old_runs() const;
    [[nodiscard]] base::Result<void> make_error_folder(const std::string& temporary);
    [[nodiscard]] base::Result<std::string> make_run_folder(const std::string& parent, const std::string& begin,
                                                            std::string_view named_by);
    bool link_latest(const std::string& log_directory, const std::string& link, const std::string& name);

    Warnings& warnings_;
    RunPaths paths_;
    std::string invented_;  ///< the run's folder, when make() has made it in $TMPDIR
    std::string parent_;    ///< of the run's folder, which has the earlier runs, too
    int keep_runs_ = 0;
    int attempt_number_ = -1;
    base::UniqueFd lock_;     ///< on the run's folder: marks this run as alive for the cleanup of later runs
    base::UniqueFd attempt_;  ///< the attempt's folder: shorter paths for many workers
};

}  // namespace dlaunch::agent
