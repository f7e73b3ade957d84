#pragma once
/// One worker's failure, from its exit status, its error file and the tail of its stderr. Input of the report.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::agent {

/// The content of a worker's error file (TORCHELASTIC_ERROR_FILE), in any of torch's forms.
struct ErrorRecord {
    std::string message;    ///< "ValueError: it broke"
    std::string callstack;  ///< may be empty
    std::string raw;        ///< the file's JSON text, unchanged
};

enum class ExitKind {
    exited,        ///< with `code`
    signalled,     ///< by `signal`
    not_executed,  ///< `text` names the failed step; `code` is 126 or 127
    timed_out,     ///< the job exceeded --timeout
    hung,          ///< the worker missed a deadline of torch's file timer, and the agent killed it
    judged,        ///< by a service of the round, for the reason `text`, with `code`
    stopped,       ///< by the agent while it lived, but other ranks name it as lost; `code` or `signal` as it ended
};

/// The strength of a failure as evidence for the first cause, strongest first. Part of the agents' protocol.
enum class Strength : unsigned char {
    crash = 0,       ///< a signal that no process sent, an error record, a verdict: not of a lost peer
    own_error = 1,   ///< an exit whose stderr does not report a lost peer, or a signal from elsewhere
    named = 2,       ///< the messages of other ranks name this one as lost
    early_exit = 3,  ///< exited with 0 while its peers needed it
    unread = 4,      ///< failed, and its stderr, a terminal, may say why
    lost_peer = 5,   ///< failed because of a lost peer
    none = 6,        ///< was stopped, or exited with 0
};

enum class OutOfMemory { no, likely, certain };

/// Resource usage of one worker, from the kernel.
struct Usage {
    std::int64_t max_rss_kib = 0;
    double user_seconds = 0, system_seconds = 0;
};

struct Failure {
    int rank = 0, local_rank = 0, node_rank = 0;
    std::string role = "default";
    std::string host;
    std::string program;  ///< the job's, as its node's user named it; known from a record only
    pid_t pid = 0;        ///< 0: never ran
    ExitKind how = ExitKind::exited;
    int code = 0;
    int signal = 0;
    bool core_dumped = false;
    OutOfMemory out_of_memory = OutOfMemory::no;
    std::string memory_limit;  ///< of the cgroup that ran out of memory, "900 MiB"; may be empty
    /// not_executed: "./prog: No such file or directory"; hung: the evidence, "timer step expired"; timed_out: the
    /// limit, "30 s"; judged: the rest of the sentence, "called MPI_Abort with 7"; exited and signalled: for a template
    /// its state, "before its fork point"; else empty.
    std::string text;
    bool permanent = false;  ///< not_executed, judged: a restart cannot help. Known on the worker's node only
    int round = 0;
    std::chrono::duration<double> after{};       ///< since the round's start, monotonic
    std::chrono::system_clock::time_point when;  ///< for display only; nothing is ordered by it
    std::optional<Usage> usage;                  ///< none: no process of a worker has ended
    std::optional<ErrorRecord> record;
    /// At a time limit and a hang, of every running worker: its last line on stdout or stderr, which may be empty, and
    /// the time since then.
    std::string last_line;
    std::chrono::duration<double> silent_for{};
    std::vector<std::string> stack;                    ///< of a native worker then, innermost frame first
    std::vector<std::string> stderr_tail;              ///< up to 20 lines of stderr, without newlines
    std::string message;                               ///< the part of stderr, else of stdout, that states the error
    bool is_unread = false;                            ///< its stderr is a terminal. Known on the worker's node only
    std::string stdout_file, stderr_file, error_file;  ///< paths; empty: none
    std::string log_folder;                            ///< of these files, by the run's link; empty: there is none
    bool is_on_screen = false;                         ///< this node's console has just shown its stderr
    /// The rank from whose fatal error this one's later error, or its exit without one, follows (EarlierErrors); -1:
    /// none. Known on the worker's node only.
    int follows_rank = -1;
    bool collateral = false;              ///< it exited because the agent stopped it
    Strength strength = Strength::crash;  ///< by itself, set by weigh()
    std::vector<int> lost_ranks;          ///< ranks that its messages name as lost
    bool lost_service = false;            ///< what it has lost is a web server or a data base
    bool lost_outside = false;            ///< it may have lost something else than a rank
    bool is_suspect = false;              ///< its message may as well be an error of its own
    std::vector<std::string> lost_hosts;  ///< words that may name hosts; not in the record
    std::string because;                  ///< of the first cause: the reason for the choice

    /// The process was a template.
    [[nodiscard]] bool of_template() const {
        return !text.empty() && (how == ExitKind::exited || how == ExitKind::signalled);
    }
    /// dlaunch's exit status if this is the first cause.
    [[nodiscard]] int exit_status() const;
};

}  // namespace dlaunch::agent
