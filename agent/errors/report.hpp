#pragma once
/// The end of a job or round as text and as JSON. No I/O: what comes out is written by the agent.

#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// One worker in the report, whether it failed or not.
struct WorkerEnd {
    int rank = 0, local_rank = 0;
    pid_t pid = 0;
    std::string host;
    int exit_status = 0;  ///< as a shell would say: 128+n for a signal
    Usage usage;
};

/// Everything the report says, in the order in which the agent learnt it.
struct JobEnd {
    std::string job_id;
    std::string program;  ///< the user's, or the module's name
    int exit_status = 0;
    int rounds = 1;  ///< how many were started
    int restarts = 0, max_restarts = 0;
    double seconds = 0;              ///< from start to end
    std::string reason;              ///< of an end without a failed worker: "SIGTERM received"; may be empty
    std::vector<Failure> failures;   ///< of the last round, causes by arrival; failures[0] is the first cause
    std::vector<WorkerEnd> workers;  ///< of the last round, by rank
    std::string log_directory;       ///< empty when no files were kept
};

/// "rank 3 (node2, pid 4711) was killed by SIGSEGV, core dumped, in round 2 after 12.3 s"; with "dlaunch: " before it
/// it never exceeds 100 columns (a long host name is shortened in the middle). One line.
[[nodiscard]] std::string summary(const Failure& failure);

/// The whole text that goes to stderr when a job failed: first line "dlaunch: " + summary of the first cause, then the
/// record's message and callstack, last words, file names, further causes, victims in one line, resources; ends with a
/// newline. Empty when nothing failed. Without the first line where the user has just been told it: `told`, a line
/// without "dlaunch: ".
[[nodiscard]] std::string text_report(const JobEnd& end, std::string_view told = {});

/// The same as JSON (--report FILE), with every field above; stable names, documented in dlaunch(1).
[[nodiscard]] std::string json_report(const JobEnd& end);

}  // namespace dlaunch::agent
