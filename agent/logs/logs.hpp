#pragma once
/// The workers' output: pipes in, console and files out. See lines.hpp for the rule that no line is ever torn.
///
/// One Logs per agent, on the loop of its I/O thread. Memory is bounded: when the console's reader is slow, pipes are
/// not read (the workers wait, as they would without an agent). A full disk is reported once and never stops a worker.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/logs/run_paths.hpp"
#include "agent/logs/worker_pipes.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

class Logs {
public:
    struct Options {
        LogPlan plan;
        std::string job_id, role, host;
        int workers = 1;
        bool console_is_raw = false;  ///< a lone worker without tee: bytes pass at once, prompts and progress bars too
        bool is_shared = false;       ///< other nodes may use the same log directory
        int stdout_fd = 1, stderr_fd = 2;  ///< the console
    };

    Logs(base::Loop& loop, Options options);
    ~Logs();

    /// Makes <directory>/<job id>_<random>/ and the `latest` link; an Error names the path and the reason.
    /// Called once, before any worker starts. A job that keeps no files has $TMPDIR/dlaunch_<random>, or no folder when
    /// that cannot be made (full, read-only), which is a complaint.
    [[nodiscard]] base::Result<void> prepare();

    /// No folder before prepare().
    [[nodiscard]] const RunPaths& paths() const;

    /// Makes the folders of an attempt and of these workers, with their links, where the job has a tree: a worker that
    /// fails at once finds its place for an error file.
    void make_folders(const std::vector<LogSource>& workers);

    /// Opens the worker's files and begins to read its pipes.
    void add_worker(const LogSource& source, OutputEnds readers);

    /// The template has ended: a drain waits for its pipes, too.
    void end_template();

    /// Up to `lines` last lines that the worker wrote on stderr in the current round, without newlines.
    [[nodiscard]] std::vector<std::string> last_words(int local_rank, int lines = 20) const;

    /// Reads what is already in the pipes of this worker.
    void read_now(int local_rank);

    /// All workers of the round are dead: read what is in the pipes and flush, then call `done` with what was dropped
    /// (bytes), at the latest after `deadline`. Strangers that hold a pipe open are not waited for.
    void drain(std::chrono::milliseconds deadline, std::function<void(std::uint64_t dropped_bytes)> done);
    /// The deadline of a running drain is now.
    void cut_drain();

    /// Queues a line of ours for stderr, between the workers' lines and never inside one. Adds no newline. Never
    /// blocks; drops the line when kOwnBytes of such lines wait for a reader.
    void say(std::string_view text);

    /// Warnings of the log machinery itself (disk full ...), each once, for the caller to print.
    [[nodiscard]] std::vector<std::string> take_complaints();

    /// Calls back when take_complaints() has something new.
    void on_complaint(std::function<void()> callback);

    /// The end of the job: removes the run directory again when it holds no log file and lay in $TMPDIR, and calls
    /// `done` when all is shown, or no byte could be shown for `patience`, with what was dropped since the last drain.
    struct Dropped {
        std::uint64_t out = 0, err = 0;  ///< bytes; all are err's where both lead to one place
    };
    void finish(std::chrono::milliseconds patience, std::function<void(const Dropped&)> done);
    /// The patience of a running finish() is over.
    void cut_finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
