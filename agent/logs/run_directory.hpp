#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/logs/complaints.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// `text` as one component of a path: no slashes, blanks or control characters, no leading dot, at most 100 bytes,
/// never empty.
[[nodiscard]] std::string safe_file_name(std::string_view text);

/// The tree of a job's files on this node:
///
///     <log dir>/latest -> <job id>_<8 random characters>
///     <log dir>/<job id>_<8 random characters>/attempt_N/<local rank>/
///                                              attempt_N/by-rank/<rank>-<host> -> ../<local rank>
///
/// A template, local rank -1, has its folder in the attempt in which it was started: attempt_N/template/.
///
/// A job that keeps no files has one temporary folder for all error files: a folder costs as much as a tenth of the
/// start of a worker.
class RunDirectory {
public:
    explicit RunDirectory(Complaints& complaints) : complaints_(complaints) {}

    /// Makes `log_directory` with its parents, the run's folder in it and the link. An empty name means a new folder
    /// in `temporary` ($TMPDIR; empty: /tmp), which holds no tree when no files are kept.
    [[nodiscard]] base::Result<void> make(const std::string& log_directory, std::string_view temporary,
                                          const std::string& job_id, bool keeps_files);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string attempt(int number) const;
    [[nodiscard]] std::string worker(int number, int local_rank) const;  ///< empty without a tree
    [[nodiscard]] std::string error_file(int number, int local_rank) const;

    /// Makes the folder of an attempt; what fails is a complaint.
    void make_attempt(int number, bool with_links);

    /// Makes a worker's folder in the attempt made last, and its link when `link` is not empty.
    void make_worker(int local_rank, const std::string& link);

    /// Removes the whole tree; only for a log directory that make() invented.
    void remove();
    [[nodiscard]] bool is_temporary() const { return !invented_.empty(); }

private:
    [[nodiscard]] base::Result<void> make_run_folder(const std::string& log_directory, const std::string& job_id);
    void link_latest(const std::string& log_directory, const std::string& name);

    Complaints& complaints_;
    std::string path_;
    std::string invented_;  ///< the log directory, when it is one of ours in $TMPDIR
    bool has_tree_ = true;
    int attempt_number_ = -1;
    base::UniqueFd lock_;     ///< on a folder of error files alone: tells later runs that this one lives
    base::UniqueFd attempt_;  ///< the attempt's folder: shorter paths for many workers
};

}  // namespace dlaunch::agent
