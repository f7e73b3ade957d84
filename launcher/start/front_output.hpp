#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launcher/start/front_view.hpp"
#include "launcher/start/messages.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Writes the output of all nodes to the front end's standard output and error, line by line, on a thread of its own:
/// a reader that does not read, or a file on an unresponsive disk, must not hold up the beats to the nodes.
///
/// Memory is bounded by the credit of each node (kOutputCredit): the thread acknowledges bytes when the console has
/// accepted them, so that a slow reader slows the nodes down, each by itself.
class FrontOutput {
public:
    /// Called on the control loop: bytes of a host's stream have been accepted.
    using OnTaken = std::function<void(int host, const Taken& taken)>;

    struct Options {
        bool raw = false;                        ///< bytes pass at once, for a job of a single worker
        std::optional<FrontView::Options> view;  ///< the live view, on a terminal; none: line by line
        std::string log_folder;                  ///< for collected log files
        bool is_typed = false;                   ///< the user types the input: prompts are shown on a terminal
    };
    FrontOutput(base::Loop& control, Options options, OnTaken on_taken);
    /// Ends the thread; detaches one that is blocked by a disk.
    ~FrontOutput();
    FrontOutput(const FrontOutput&) = delete;
    FrontOutput& operator=(const FrontOutput&) = delete;

    void feed(int host, FrameKind stream, std::string bytes);
    /// The following `data` of the host belongs to this log file.
    void begin_file(int host, const std::string& name, std::string path);
    /// The host's streams have ended: shows unfinished lines.
    void end(int host);
    /// Prints complete lines on standard error.
    void print(std::string text);
    /// The same on standard output.
    void print_on_stdout(std::string text);
    /// The file of --event-log, and a line for it.
    void open_events(std::string path);
    void write_event(std::string line);
    /// Replaces the status line, which stands at the bottom of a terminal until other output comes; empty: none.
    /// Without effect where standard error is no terminal.
    void show_status(std::string text);
    /// The terminal belongs to another job: there is no live view meanwhile.
    void set_background(bool is_in_background);
    /// Calls `done` when all output has left, or when no byte has left for 5 s; hurry() cuts that. `is_lost`: some has
    /// not.
    void finish(std::function<void(bool is_lost)> done);
    void hurry();
    [[nodiscard]] bool is_stuck() const { return is_stuck_; }

private:
    struct Side;
    struct Thread;
    void watch_finish();
    void end_finish(bool is_lost);

    base::Loop& control_;
    std::shared_ptr<Thread> thread_;
    std::function<void(bool)> finished_;
    base::Timer finish_watch_;
    bool is_hurried_ = false, is_stuck_ = false, is_in_background_ = false;
};

}  // namespace dlaunch::launcher
