#pragma once
/// Formats the result of a job as text and as JSON. No I/O.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// A worker in the report, failed or not.
struct WorkerResult {
    int rank = 0, local_rank = 0;
    std::string role;
    pid_t pid = 0;
    std::string host;
    int exit_status = 0;  ///< as in a shell: 128+n for a signal
    Usage usage;
};

/// Ranks of all nodes whose workers ended otherwise than by a failure of their own.
struct OtherRanks {
    std::vector<int> stopped, finished, outlived;  ///< by their agents; with 0; until the time limit
};

/// The content of the report.
struct JobResult {
    std::string job_id;
    std::string program;  ///< name of the program or module; of several contexts: "a : b"
    int exit_status = 0;
    int rounds = 1;  ///< number of rounds started
    int restarts = 0, max_restarts = 0;
    double seconds = 0;                     ///< from start to end
    std::string reason;                     ///< of an end without a failed worker: "SIGTERM received"; may be empty
    std::vector<Failure> failures;          ///< of the last round, causes by arrival; failures[0] is the first cause
    std::vector<WorkerResult> workers;      ///< of the last round on this node, by rank
    std::optional<OtherRanks> others;       ///< none: `workers` are all of the job
    std::string log_directory;              ///< empty: no files were kept
    std::string log_name;                   ///< a short name of log_directory, by a link; empty: there is none
    std::vector<std::string> command_line;  ///< of dlaunch
    std::chrono::system_clock::time_point started, ended;
    bool is_python = false;    ///< the program of the first cause is a script or module of Python
    bool lacks_input = false;  ///< the standard input of the first cause is empty, but need not be
};

/// How a report is to look on its output.
struct ReportStyle {
    std::size_t columns = 0;  ///< width of the terminal; 0: no terminal, long lines are not cut
    bool highlight = false;   ///< print the first line bold and red
};

/// "rank 3 (node2, pid 4711) was killed by SIGSEGV, core dumped, in round 2 after 12.3 s". One line of at most 100
/// columns including a leading "dlaunch: ", and of at most `columns`; a long host name is shortened in the middle.
[[nodiscard]] std::string summary(const Failure& failure, std::size_t columns = 100);

/// "exited with 3": the summary's clause about the exit, at any length.
[[nodiscard]] std::string exit_text(const Failure& failure);

/// The text for stderr after a failure, of at most 12 lines: "dlaunch: " and the summary of the first cause, then its
/// innermost frame and message unless the screen has just shown them, further causes, stopped ranks, the place of the
/// logs and the status. Ends with a newline. Empty if nothing failed. `printed`: a line without "dlaunch: " that the
/// user has just seen; if it is the summary, the text omits its first line.
[[nodiscard]] std::string text_report(const JobResult& end, std::string_view printed = {},
                                      const ReportStyle& style = {});

/// The same as JSON (--report FILE). dlaunch(1) documents the fields.
[[nodiscard]] std::string json_report(const JobResult& end);

}  // namespace dlaunch::agent
