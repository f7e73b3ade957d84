#pragma once
/// The control loop's handle on the I/O thread. Everything that a disk or a reader can hold up runs there: log files,
/// console, event log, error files, reports, run folders. The control loop only puts requests into a queue and receives
/// answers as callbacks; no call here waits for the thread.
///
/// Where the thread stands still inside a system call (a disk that does not answer), the control loop goes on: a drain
/// and the end of the job are given up after a bound, and the workers' pipes hold what the workers write.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"
#include "agent/errors/report.hpp"
#include "agent/logs/logs.hpp"
#include "agent/logs/run_paths.hpp"
#include "agent/logs/worker_pipes.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// What a failed worker left for the report.
struct Evidence {
    std::vector<std::string> stderr_tail;
    std::optional<ErrorRecord> record;
};

/// The answer to drain().
struct Drained {
    std::uint64_t dropped_bytes = 0;
    bool stalled = false;              ///< the I/O thread stood still: nothing else is known
    std::map<int, Evidence> evidence;  ///< by local rank
};

/// Belongs to the agent, on its control loop.
class Output {
public:
    struct Bounds {
        std::chrono::milliseconds drain{5000};
        /// Of the end of the job, since the console's reader or a file took something.
        std::chrono::milliseconds patience{5000};
        /// A thread that has been inside one call for so long does not hold up the next round.
        std::chrono::milliseconds stands_still{1000};
        /// For the thread to come back to its queue, when the user asks for the end again.
        std::chrono::milliseconds hurried{200};
    };
    static constexpr std::size_t kMostQueuedBytes = 8 << 20;  ///< of lines and events, while the thread stands still

    /// Starts the thread. Where the system refuses it (a seccomp filter, no processes left), its work is done on the
    /// control loop. `plan` must outlive the thread, `control` this object.
    Output(base::Loop& control, const Plan& plan, Logs::Options options, const Bounds& bounds);
    /// Ends the thread, unless it stands still or was left.
    ~Output();
    /// The process exits next: the idle thread is left to the kernel.
    void leave_thread() { left_ = true; }

    /// Runs `also`, opens the event log and makes the run folder. `done` receives the first error.
    void prepare(std::function<base::Result<void>()> also, std::function<void(base::Result<void>)> done);
    [[nodiscard]] const RunPaths& paths() const { return paths_; }  ///< complete once prepare() has answered

    /// Makes the folders of the next round; `done` when they are there.
    void make_folders(std::vector<LogSource> workers, std::function<void()> done);
    /// The ends that a worker gets for fds 1 and 2; the thread reads the others from now on.
    [[nodiscard]] base::Result<OutputEnds> add_worker(const LogSource& source);
    void end_template();
    /// All workers of the round are dead. Reads what is in the pipes, shows it, and collects the evidence of these
    /// workers.
    void drain(std::vector<LogSource> failed, std::function<void(Drained)> done);
    void cut_drain();

    /// Prints a line on stderr, whatever bytes it has, after "dlaunch: ".
    void say(const std::string& text);
    /// A line of the event log, with its newline.
    void write_event(std::string line);

    /// The last words of the job: lines for stderr, reports to be written.
    struct Ending {
        std::string text;                ///< the report, complete lines; may be empty
        std::vector<std::string> lines;  ///< after it, each as say()
        JobEnd report;
    };
    /// Shows and writes it. `done` when all is out, or nothing moved for Bounds::patience; `lost` then says what is
    /// missing.
    void finish(Ending ending, std::function<void(const std::string& lost)> done);
    /// The same without a report, for a job that never began.
    void abandon(std::function<void(const std::string& lost)> done);
    /// What waits is given up.
    void hurry();
    /// The thread stands still, so that this process can only end by _exit(2).
    [[nodiscard]] bool stands_still() const { return given_up_; }

private:
    struct Side;    ///< what belongs to the thread
    struct Thread;  ///< its loop, and what keeps both alive
    struct Gate;    ///< how the thread reaches the control loop, as long as there is one

    [[nodiscard]] base::Duration in_call_for() const;
    void post(std::function<void(Side&)> work);
    void post_bounded(std::size_t bytes, std::function<void(Side&)> work);
    void watch_drain(std::uint64_t number);
    void end_drain(std::uint64_t number, Drained drained);
    void end_finish(const std::string& lost);
    void watch_finish(std::chrono::milliseconds patience);

    base::Loop& control_;
    const Bounds bounds_;
    std::shared_ptr<Thread> thread_;  ///< null: there is none
    std::shared_ptr<Side> side_;
    std::shared_ptr<Gate> gate_;
    RunPaths paths_;
    std::uint64_t drains_ = 0;  ///< answers to an earlier drain are late
    std::function<void(Drained)> drained_;
    std::function<void(const std::string&)> finished_;
    std::string report_text_;
    base::Timer drain_watch_, finish_watch_;
    bool given_up_ = false, left_ = false;
};

}  // namespace dlaunch::agent
