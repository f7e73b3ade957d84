#pragma once

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "launcher/start/frame_socket.hpp"
#include "launcher/start/front_search.hpp"
#include "launcher/start/log_sender.hpp"
#include "launcher/start/messages.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// The descriptors of a node's dlaunch that its agent process holds.
struct NodeChild {
    pid_t pid = 0;
    base::UniqueFd pidfd;
    base::UniqueFd input;          ///< none without NodeOrder::has_input
    base::UniqueFd front_notices;  ///< agent::Plan::front_notices
    std::array<base::UniqueFd, 2> output;
};

/// Connects a node's dlaunch, a child process, to the front end: passes output, input and signals on, and kills the
/// child when the front end is gone.
class NodeRelay {
public:
    /// `logs`: the folder of the log files to send at the end; empty: none.
    NodeRelay(const FrontConnection& front, NodeChild child, std::filesystem::path logs);

    /// Runs to the end of the child, or of the connection; returns the exit status for this process.
    [[nodiscard]] int run();

private:
    struct Stream {
        FrameKind kind;
        base::UniqueFd fd;
        std::size_t credit = kOutputCredit;
        base::Watch watch;
    };

    void on_frame(FrameKind kind, std::string_view payload);
    void on_closed();
    void on_signal();
    void pass_signal(int number, int& this_way, const int& other_way);
    void on_exit();
    void on_beat();
    void watch(Stream& stream);
    void on_output(Stream& stream);
    void write_input();
    void on_notice();
    void end_when_read();
    void send_logs();
    void finish();

    base::Loop loop_;
    NodeChild child_;
    std::optional<FrameSocket> socket_;
    std::optional<LogSender> logs_;
    std::array<Stream, 2> streams_;
    std::string unwritten_;    ///< input for the child
    bool input_ends_ = false;  ///< after `unwritten_`
    std::optional<int> status_;
    std::string end_reason_;  ///< with status_
    bool is_ended_ = false;   ///< NodeEnd is queued
    base::UniqueFd signals_;
    struct {
        int front = 0, own = 0;
    } requests_;  ///< to end, from the front end and to this process
    base::Watch exit_watch_, signal_watch_, input_watch_, notice_watch_;
    base::Timer beat_, end_timer_;
};

}  // namespace dlaunch::launcher
