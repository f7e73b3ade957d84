#pragma once
/// What is known about one worker's bad end. Filled by the agent from what the kernel says, the worker's error file
/// and its last words; read by the report.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::agent {

/// What a worker wrote into its error file (TORCHELASTIC_ERROR_FILE), in any of torch's forms.
struct ErrorRecord {
    std::string message;    ///< "ValueError: it broke"
    std::string callstack;  ///< may be empty
    std::string raw;        ///< the file's JSON text as it was
};

enum class HowEnded {
    exited,        ///< with `code`
    signalled,     ///< by `signal`
    not_executed,  ///< `text` says which step failed; `code` is 126 or 127
    timed_out,     ///< the job outlived --timeout
    hung,          ///< a deadline of its own passed (torch's file timer); it was killed by us
};

enum class OutOfMemory { no, likely, certain };

struct Failure {
    int rank = 0, local_rank = 0, node_rank = 0;
    std::string role = "default";
    std::string host;
    pid_t pid = 0;  ///< 0 when it never ran
    HowEnded how = HowEnded::exited;
    int code = 0;
    int signal = 0;
    bool core_dumped = false;
    OutOfMemory out_of_memory = OutOfMemory::no;
    std::string memory_limit;  ///< of the cgroup that ran out, "900 MiB"; may be empty
    /// not_executed: "./prog: No such file or directory"; hung: what told so, "timer step expired"; timed_out: the
    /// limit, "30 s"; exited, signalled: where, when it was the template, "before its fork point"; else empty.
    std::string text;
    bool permanent = false;  ///< not_executed: another try ends alike. Known on its own node only
    int round = 0;
    std::chrono::duration<double> after{};       ///< since the round's start, monotonic
    std::chrono::system_clock::time_point when;  ///< for humans only, nothing is ordered by it
    std::optional<ErrorRecord> record;
    std::vector<std::string> last_words;               ///< up to 20 lines of stderr, without newlines
    std::string stdout_file, stderr_file, error_file;  ///< paths; empty where there is none
    bool victim = false;                               ///< it ended because we stopped it

    /// The process that ended was the one that workers are forked of.
    [[nodiscard]] bool of_template() const {
        return !text.empty() && (how == HowEnded::exited || how == HowEnded::signalled);
    }
    /// The status dlaunch ends with when this is the first cause.
    [[nodiscard]] int exit_status() const;
};

/// Resources of one worker over its life, from the kernel.
struct Usage {
    int rank = 0;
    std::int64_t max_rss_kib = 0;
    double user_seconds = 0, system_seconds = 0;
};

}  // namespace dlaunch::agent
