#pragma once
/// The workers' output: pipes in, console and files out. See lines.hpp for the rule that no line is ever torn.
///
/// One Logs per agent, on its loop's thread. Memory is bounded: when the console's reader is slow, pipes are not read
/// (the workers wait, as they would without us). A full disk is told once and never stops anybody.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// Who writes to a pair of pipes.
struct LogSource {
    int rank = 0;  ///< of a template, that of local rank 0
    int local_rank = 0, group_rank = 0;
    int restart_round = 0;  ///< N of attempt_N
};

class Logs {
public:
    struct Options {
        LogPlan plan;
        std::string job_id, role, host;
        int workers = 1;
        bool console_is_raw = false;  ///< a lone worker without tee: bytes pass at once, prompts and progress bars too
        int stdout_fd = 1, stderr_fd = 2;  ///< the console
    };

    Logs(base::Loop& loop, Options options);
    ~Logs();

    /// Makes <directory>/<job id>_<random>/ and the `latest` link; an Error names the path and the reason.
    /// Called once, before any worker starts.
    [[nodiscard]] base::Result<void> prepare();

    /// <directory>/<job id>_<random>, or $TMPDIR/dlaunch_<random> for a job that keeps no files; empty before prepare()
    /// or when it could not be made in $TMPDIR (full, read-only), which is told in take_complaints() and stops nobody
    /// unless files were asked for.
    [[nodiscard]] std::string run_directory() const;
    /// The run directory that finish() removes, of a job that keeps no files; else empty.
    [[nodiscard]] std::string temporary_directory() const;

    /// attempt_N/<local rank>, made by start_worker(); empty where there is none: a job that keeps no files has only a
    /// run directory, for a folder costs as much as a tenth of the start of a worker.
    [[nodiscard]] std::string worker_directory(const LogSource& source) const;

    /// Where the worker may leave its error record, in a folder that is there from start_worker() to finish(); empty
    /// where there is no run directory.
    [[nodiscard]] std::string error_file(const LogSource& source) const;

    /// Paths of the files of a worker; empty where its stream has no file.
    [[nodiscard]] std::string file_of(const LogSource& source, Stream stream) const;

    /// The ends that a worker gets for fds 1 and 2. An Error (too many open files) names the limit.
    struct Ends {
        base::UniqueFd out, err;
    };
    /// Makes the worker's folder, files and links, and the pipes, and starts to read them.
    [[nodiscard]] base::Result<Ends> start_worker(const LogSource& source);

    /// The local rank of a template (process/template.hpp), which outlives rounds. Its streams go where those of the
    /// lowest rank go that may use the console, with the word `template` for its ranks, and are never folded.
    static constexpr int kTemplate = -1;
    /// It lives no more: a drain waits for its pipes, too.
    void end_template();

    /// Up to `lines` last lines the worker wrote on stderr in the current round, without newlines.
    [[nodiscard]] std::vector<std::string> last_words(int local_rank, int lines = 20) const;

    /// Reads what is already in the pipe of this worker now (so that its last words are complete).
    void read_now(int local_rank);

    /// All workers of the round are dead: read what is in the pipes and flush, then call `done` with what was dropped
    /// (bytes), at the latest after `deadline`. Strangers that hold a pipe open are not waited for.
    void drain(std::chrono::milliseconds deadline, std::function<void(std::uint64_t dropped_bytes)> done);
    /// The deadline of a running drain is now.
    void cut_drain();

    /// A line of our own on stderr, between the workers' lines and never inside one. Adds no newline.
    /// Blocks at most briefly; drops when nobody reads.
    void say(std::string text);

    /// Warnings of the log machinery itself (disk full ...), each once, for the agent to say.
    [[nodiscard]] std::vector<std::string> take_complaints();

    /// Calls back when take_complaints() has something new.
    void on_complaint(std::function<void()> callback);

    /// The end of the job: removes the run directory again when it holds no log file and lay in $TMPDIR.
    void finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// What the plan says of the output of this node's workers.
[[nodiscard]] Logs::Options log_options(const Plan& plan, const std::string& host);

}  // namespace dlaunch::agent
