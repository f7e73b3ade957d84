#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "agent/process/terminal.hpp"
#include "launcher/start/front_node.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Copies the front end's standard input to the nodes whose workers read it (--stdin), as the nodes report them. The
/// slowest of these nodes sets the pace. A terminal is read in its foreground: in the background the copy waits for fg,
/// and where no shell could bring the job to the foreground it ends at once.
class FrontInput {
public:
    /// `nodes` must outlive this object.
    FrontInput(base::Loop& loop, std::vector<NodeState>& nodes, pid_t guard);
    /// Gives the terminal back.
    ~FrontInput() { terminal_.take_back(); }
    FrontInput(const FrontInput&) = delete;
    FrontInput& operator=(const FrontInput&) = delete;

    void take(int host, const agent::FrontNotice& notice);
    /// The connection to the node is gone.
    void drop(int host);
    /// The node's workers have received `bytes`.
    void taken(int host, std::size_t bytes);
    /// A shell may have brought the job to the foreground; to be called from time to time.
    void resume() { read_on(); }

private:
    void on_readers_changed();
    void read_on();
    [[nodiscard]] bool may_read();
    void pause();
    void on_readable();
    void end();
    void send_end(NodeState& node);
    [[nodiscard]] std::size_t credit() const;

    base::Loop& loop_;
    std::vector<NodeState>& nodes_;
    agent::Terminal terminal_;
    int round_ = -1;            ///< the latest one with a notice
    bool is_complete_ = false;  ///< all nodes with readers in `round_` have sent a notice
    bool is_at_end_ = false;
    const bool can_watch_;
    base::Watch watch_;
    base::Timer turn_;  ///< in place of `watch_` where standard input is always ready
};

}  // namespace dlaunch::launcher
