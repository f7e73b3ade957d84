#pragma once
/// The workers' output: reads the pipes, writes console and files. lines.hpp explains how lines stay whole.
///
/// One Logs per agent, on the loop of the I/O thread. Memory is bounded: while the console's reader is slow, the pipes
/// are not read, and the workers block as they would without an agent. A full disk causes one warning and never stops a
/// worker.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/logs/last_line.hpp"
#include "agent/logs/live/progress_line.hpp"
#include "agent/logs/run_paths.hpp"
#include "agent/logs/tail.hpp"
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
        std::string job_id, host, program;
        std::vector<std::string> roles;  ///< by local rank
        std::string temporary = "/tmp";  ///< Plan::temporary_folder
        int workers = 1;
        bool console_is_raw =
            false;               ///< a lone worker: bytes that are not teed pass at once, prompts and progress bars too
        bool is_shared = false;  ///< other nodes may use the same log directory
        bool gives_terminal = false;  ///< to a worker, which writes to it by itself, as debuggers and editors must
        StdinPlan typed{StdinPlan::Mode::none};  ///< of these two modes and `rank`: which workers get typed input
        base::Time began = base::Clock::now();   ///< of the job
        int stdout_fd = 1, stderr_fd = 2;        ///< the console
    };

    Logs(base::Loop& loop, Options options);
    ~Logs();

    /// Makes <directory>/<job id>_<random>/ and the `latest` link; an Error names the path and the reason. To be called
    /// once, before any worker starts. A job that keeps no files gets $TMPDIR/dlaunch_<random>; where that folder
    /// cannot be made (full, read-only), the job has none, with a warning.
    [[nodiscard]] base::Result<void> prepare();

    /// Without a folder before prepare().
    [[nodiscard]] const RunPaths& paths() const;

    /// Makes the folders and links of an attempt and of these workers, where the job has a tree. To be called before
    /// the workers start: a worker that fails at once needs its folder for the error file.
    void make_folders(const std::vector<LogSource>& workers);

    /// Opens the worker's files and starts to read its pipes.
    void add_worker(const LogSource& source, OutputEnds readers);

    /// The template has exited: a drain now waits for its pipes, too.
    void end_template();

    /// The last lines that the worker wrote to stderr in the current round, as Tail::lines().
    [[nodiscard]] std::vector<std::string> stderr_tail(int local_rank, int lines = 20,
                                                       std::size_t longest = Tail::kLineBytes) const;

    /// The same for stdout.
    [[nodiscard]] std::vector<std::string> stdout_tail(int local_rank, int lines, std::size_t longest) const;

    /// As Tail::shown().
    [[nodiscard]] std::optional<Tail::Shown> shown_on_stderr(int local_rank, std::string_view text) const;

    /// The worker's last line on either stream in the current round; without text: none.
    [[nodiscard]] LastLine last_line(int local_rank) const;

    /// Whether the end of what the worker wrote to stderr is among the last lines on the console.
    [[nodiscard]] bool has_just_shown_stderr(int local_rank) const;

    /// Reads the bytes that the pipes of this worker hold now.
    void read_now(int local_rank);

    /// To be called when all workers of the round are dead. Reads the rest of the pipes, flushes the console, and calls
    /// `done` with the number of dropped bytes, when the console has accepted all bytes, or none for `patience`. Does
    /// not wait for other processes that hold a pipe open.
    void drain(std::chrono::milliseconds patience, std::function<void(std::uint64_t dropped_bytes)> done);
    /// Ends a running drain now, as if its patience were over.
    void cut_drain();

    /// Queues a line of dlaunch for stderr, between the workers' lines and never inside one. Adds no newline. Never
    /// blocks; drops the line when the queue exceeds its bound by Screen::kOwnBytes.
    void print(std::string_view text);
    /// The same for stdout.
    void print_on_stdout(std::string_view text);

    /// Whether the console shows the live view. Constant, for any thread.
    [[nodiscard]] bool is_live() const;
    void show(const JobProgress& progress);
    /// Removes the status line and what else does not scroll, until resume_view().
    void pause_view();
    void resume_view();
    /// Once the workers are stopped: pauses the view below what they have written, and shows nothing more on a
    /// terminal until release(), drain() or finish().
    void suspend();
    void release();

    /// The size for the terminal of a worker: the console's without the prefix of lines, else the usual one.
    [[nodiscard]] WindowSize worker_window() const;
    /// Sets the callback for a new size of the workers' terminals. The kernel sends no SIGWINCH, because they
    /// are no process's controlling terminal.
    void on_resize(std::function<void()> callback);

    /// New warnings about the output itself (disk full ...), for the caller to print.
    [[nodiscard]] std::vector<std::string> take_warnings();

    /// Sets the callback for new warnings; called inside a write: do not print from there.
    void on_warning(std::function<void()> callback);

    /// The end of the job: calls `done` with the number of bytes dropped since the last drain, when the console has
    /// accepted all bytes, or none for `patience`.
    struct Dropped {
        std::uint64_t out = 0, err = 0;  ///< bytes; all count as `err` if both have one destination
    };
    void finish(std::chrono::milliseconds patience, std::function<void(const Dropped&)> done);
    /// Ends a running finish() now, as if its patience were over.
    void cut_finish();
    /// Removes a temporary run folder if the job keeps no files.
    void remove_folder();
    /// Removes the oldest runs where only some are to be kept.
    void close_folder();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
