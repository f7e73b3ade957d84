#pragma once

#include <fmt/format.h>

#include <string>

#include "agent/plan.hpp"

namespace dlaunch::agent {

/// The process behind a pair of pipes.
struct LogSource {
    /// The local rank of a template, which outlives rounds. Its streams have the destinations of the lowest rank on the
    /// console, with `template` in place of the ranks; they are never coalesced.
    static constexpr int kTemplate = -1;

    int rank = 0;  ///< a template has the rank of local rank 0
    int local_rank = 0, group_rank = 0;
    int restart_round = 0;  ///< N of attempt_N
};

/// Names in the tree of a job's files; run_directory.hpp makes the tree. A value, because the control loop needs the
/// names of files that the I/O thread makes.
class RunPaths {
public:
    RunPaths() = default;  ///< the job has no folder: all names are empty
    /// `has_tree`: the run has a folder per attempt and worker; else error files lie in the run folder itself.
    RunPaths(std::string folder, bool has_tree) : folder_(std::move(folder)), has_tree_(has_tree) {}

    [[nodiscard]] const std::string& folder() const { return folder_; }
    /// A link to the folder with a short path, as its user named the log directory; empty: there is none.
    [[nodiscard]] const std::string& short_name() const { return short_name_; }
    void set_short_name(std::string name) { short_name_ = std::move(name); }
    [[nodiscard]] bool has_tree() const { return has_tree_ && !folder_.empty(); }
    [[nodiscard]] static std::string name_of(int local_rank) {
        return local_rank == LogSource::kTemplate ? "template" : fmt::format_int(local_rank).str();
    }
    [[nodiscard]] std::string attempt(int number) const {
        return has_tree() ? fmt::format("{}/attempt_{}", folder_, number) : "";
    }
    [[nodiscard]] std::string worker(int number, int local_rank) const {
        return has_tree() ? attempt(number) + "/" + name_of(local_rank) : "";
    }
    [[nodiscard]] std::string worker(const LogSource& source) const {
        return worker(source.restart_round, source.local_rank);
    }
    /// worker() by the link; empty: there is none.
    [[nodiscard]] std::string short_worker(const LogSource& source) const {
        return short_name_.empty() || !has_tree() ? "" : short_name_ + worker(source).substr(folder_.size());
    }
    /// The file for the worker's error record.
    [[nodiscard]] std::string error_file(const LogSource& source) const {
        if (folder_.empty()) return {};
        if (has_tree_) return worker(source) + "/error.json";
        return fmt::format("{}/error_{}_{}.json", folder_, source.restart_round, name_of(source.local_rank));
    }
    /// The log file of a stream; empty: the stream has none.
    [[nodiscard]] std::string file_of(const LogPlan& plan, const LogSource& source, Stream stream) const {
        if (!plan.has_file(plan.stands_for(source.local_rank), stream) || !has_tree()) return {};
        return worker(source) + (stream == kStdout ? "/stdout.log" : "/stderr.log");
    }

private:
    std::string folder_, short_name_;
    bool has_tree_ = true;
};

}  // namespace dlaunch::agent
