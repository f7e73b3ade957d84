#pragma once
/// The control loop's handle on the I/O thread. A disk or a slow reader can block log files, console, event log, error
/// files, reports and run folders; therefore all of them belong to that thread. The control loop only queues requests
/// and receives answers as callbacks. No call waits for the thread; only the destructor does, for Bounds::stall at
/// most.
///
/// When a disk does not respond, the thread stalls inside a system call, and the control loop continues: bounds end the
/// wait for a drain and for the end of the job. Meanwhile the pipes buffer the workers' output; a worker that fills its
/// pipe blocks.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/errors/failure.hpp"
#include "agent/errors/report.hpp"
#include "agent/logs/logs.hpp"
#include "agent/logs/run_paths.hpp"
#include "agent/logs/worker_pipes.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// An error on stderr; members as in StatedError.
struct ShownError : Tail::Shown {
    bool may_be_survived = false;
};

/// Output of a failed worker that the report quotes.
struct Evidence {
    std::vector<std::string> stderr_tail;
    std::string message;             ///< the part of stderr, else of stdout, that states the error
    bool is_said_on_stdout = false;  ///< the message
    std::optional<ErrorRecord> record;
    LastLine last_line;
    std::optional<ShownError> error;
    bool is_on_screen = false;  ///< the console has just shown the stderr tail
};

/// The answer to drain().
struct Drained {
    std::uint64_t dropped_bytes = 0;
    bool stalled = false;              ///< the I/O thread had stalled: the other members are empty
    std::map<int, Evidence> evidence;  ///< by local rank
};

/// Belongs to the agent, on its control loop.
class Output {
public:
    struct Bounds {
        /// At the end of a round and of the job: the wait since the console's reader or a file last accepted a byte.
        std::chrono::milliseconds patience{5000};
        /// A thread inside one call for longer than this has stalled: the next round does not wait for the thread.
        std::chrono::milliseconds stall{1000};
        /// After a second request to end: time for the thread to return to its queue.
        std::chrono::milliseconds hurried{200};
        /// Delay of the line that explains a start blocked by a file system.
        std::chrono::milliseconds silent_start{3000};
    };
    static constexpr std::size_t kMostQueuedBytes = 8 << 20;  ///< of lines and events, while the thread is stalled

    /// Starts the thread. If the system refuses a thread (a seccomp filter, the limit of processes), the control loop
    /// does the thread's work. `plan` must outlive the thread, `control` this object.
    Output(base::Loop& control, const Plan& plan, Logs::Options options, const Bounds& bounds);
    /// Ends the thread; detaches a stalled one.
    ~Output();
    /// The loop of the thread, for other work that a file may hold up.
    [[nodiscard]] base::Loop& loop();

    /// Files of the job beside the output's, which a disk may hold up, too. Called by the thread, and may outlive the
    /// caller.
    struct OtherFiles {
        std::function<base::Result<void>()> make;      ///< before the run folder; an error refuses the job
        std::function<void(const RunPaths&)> make_in;  ///< after it
        std::function<void()> remove;                  ///< after all output has left
    };
    /// Makes the other files, opens the event log and makes the run folder. `done` receives the first error.
    void prepare(OtherFiles other, std::function<void(base::Result<void>)> done);
    [[nodiscard]] const RunPaths& paths() const { return paths_; }  ///< complete once prepare() has answered

    /// Makes the folders of the next round, then calls `done`.
    void make_folders(std::vector<LogSource> workers, std::function<void()> done);
    /// Returns the write ends for a worker's fds 1 and 2; the thread reads the other ends from now on.
    [[nodiscard]] base::Result<OutputEnds> add_worker(const LogSource& source);
    void end_template();
    /// Reads what all pipes hold now, in the order in which they became ready, and calls `done` with the worker's
    /// output so far. Without an answer while the thread is stalled.
    void inspect(const LogSource& source, std::function<void(Evidence)> done);
    /// To be called when all workers of the round are dead: reads and shows the rest of the pipes, and collects the
    /// evidence of the `failed` workers.
    void drain(std::vector<LogSource> failed, std::function<void(Drained)> done);
    /// Ends a running drain now.
    void cut_drain();

    /// Prints a line on stderr after "dlaunch: ", with control bytes escaped.
    void print(const std::string& text);
    /// Calls `resized` when the workers' terminals have another size.
    void on_resize(std::function<void()> resized);

    /// For the live view of a terminal; without effect on other consoles.
    void show(const JobProgress& progress);

    /// Once the workers are stopped: calls `done` when a terminal can belong to the shell: no output follows, and the
    /// parts of the live view that do not scroll are erased. Not after resume().
    void suspend(std::function<void()> done);
    /// Shows what came since suspend(), and the view, unless the terminal belongs to the shell now, or to another job.
    void resume(bool is_in_background);

    /// Appends a line, which includes its newline, to the event log.
    void write_event(std::string line);

    /// The output at the end of the job: lines for stderr, and the content of the reports.
    struct FinalOutput {
        std::string text;                ///< the report, complete lines; may be empty
        std::vector<std::string> lines;  ///< printed after the report, each as by print()
        JobResult report;
    };
    /// Prints the lines and writes the reports. Calls `done` when all output has left, or when no byte moved for
    /// Bounds::patience. `lost` holds the output that a stalled thread could not print, and names the rest; else empty.
    void finish(FinalOutput final_output, std::function<void(const std::string& lost)> done);
    /// As finish(), without a report and without patience: for a job that never began.
    void abandon(std::function<void(const std::string& lost)> done);
    /// Gives up queued output: ends a running drain and finish now. A stalled thread has Bounds::hurried left.
    void hurry();
    /// The thread has stalled and cannot be joined: the process must exit by _exit(2).
    [[nodiscard]] bool has_stalled() const { return given_up_; }

private:
    struct Side;    ///< the thread's data
    struct Thread;  ///< the thread and its loop; owns the Side
    struct Gate;    ///< passes callbacks to the control loop; closed when this object is destroyed
    struct NewWorker {
        LogSource source;
        std::shared_ptr<OutputEnds> readers;  ///< shared: std::function copies what it holds
    };

    [[nodiscard]] base::Duration in_call_for() const;
    [[nodiscard]] base::Result<WorkerPipes> make_ends(const LogSource& source) const;
    void post(std::function<void(Side&)> work);
    void post_behind_reads(std::function<void(Side&)> work);
    void post_new_workers();
    void post_new_workers_after(std::size_t known);
    void post_bounded(std::size_t bytes, std::function<void(Side&)> work);
    void explain_start();
    void watch_drain(std::uint64_t number);
    void end_drain(std::uint64_t number, Drained drained);
    std::function<void(const std::string&)> thread_end();
    void end_finish(const std::string& lost);
    void watch_finish(std::chrono::milliseconds patience, base::Duration wait);
    void give_up_thread();
    void end_without_thread(std::string lost);

    base::Loop& control_;
    const Bounds bounds_;
    std::shared_ptr<Thread> thread_;  ///< null: the control loop does the work
    std::shared_ptr<Side> side_;
    std::shared_ptr<Gate> gate_;
    RunPaths paths_;
    std::vector<NewWorker> new_workers_;  ///< of these turns of the control loop: they share a wake-up of the thread
    std::uint64_t drains_ = 0;            ///< number of the latest drain: answers to earlier ones are late
    std::function<void(Drained)> drained_;
    std::function<void(const std::string&)> finished_;
    std::shared_ptr<const FinalOutput> final_output_;
    JobProgress shown_;
    std::shared_ptr<std::function<void()>> suspended_;  ///< since suspend(); holds what is still to be called
    base::Timer pause_due_;
    base::Timer start_watch_, drain_watch_, finish_watch_;
    base::Background warning_, reports_;
    bool given_up_ = false, hurried_ = false;
};

}  // namespace dlaunch::agent
