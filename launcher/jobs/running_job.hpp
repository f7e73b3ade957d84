#pragma once
/// The jobs of a user on a node, as their processes describe themselves. No I/O.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

struct JobWorker {
    int rank = 0, local_rank = 0;
    pid_t pid = 0;  ///< 0: not started
    bool alive = false;
    int status = 0;  ///< once it has ended
};

/// One dlaunch of a job on this node: an agent or a front end.
struct JobProcess {
    pid_t pid = 0;  ///< that the user started, and signals: the guard
    std::string job = "?", host, state = "not responding", endpoint, program = "?", began, logs;
    bool is_front_end = false, has_front_end = false;
    int max_nodes = 1, min_nodes = 1, round = 0, restarts = 0;
    std::vector<JobWorker> workers;
    std::string reply;  ///< JSON; empty: the process did not answer
};

/// Reads the reply to a status request; an empty or foreign one describes a process that does not respond.
[[nodiscard]] JobProcess read_process(pid_t pid, std::string_view reply);

struct RunningJob {
    std::string id;
    std::vector<JobProcess> processes;  ///< never empty; a front end is the first
};

/// Puts the processes of a job together: those of a front end by the job's id, those of several nodes by id and
/// endpoint, because unnamed jobs have the same id. The oldest job is the first.
[[nodiscard]] std::vector<RunningJob> group_jobs(std::vector<JobProcess> processes);

inline constexpr int kNoSuchJob = 1;  ///< exit status

/// The job with this id, or with a process of this number; without a name the only one.
[[nodiscard]] base::Result<RunningJob> choose_job(const std::vector<RunningJob>& jobs,
                                                  const std::optional<std::string>& name);

/// The processes whose end is the job's end here: a front end alone, else all.
[[nodiscard]] std::vector<pid_t> pids_to_stop(const RunningJob& job);

/// The table of `dlaunch ps`; empty without jobs.
[[nodiscard]] std::string jobs_text(const std::vector<RunningJob>& jobs);
/// The text of `dlaunch status`.
[[nodiscard]] std::string job_text(const RunningJob& job);
/// The same as a line of JSON: {"job":...,"processes":[{"pid":...,the fields of the reply}]}.
[[nodiscard]] std::string job_json(const RunningJob& job);

}  // namespace dlaunch::launcher
