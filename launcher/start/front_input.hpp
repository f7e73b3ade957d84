#pragma once

#include <sys/types.h>

#include <vector>

#include "agent/process/terminal.hpp"
#include "launcher/start/front_node.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Copies the front end's standard input to the nodes whose workers read it (--stdin). The slowest of these nodes sets
/// the pace. A terminal is read in its foreground: in the background the copy waits for fg, and where no shell could
/// bring the job to the foreground it ends at once.
class FrontInput {
public:
    /// `plan` and `nodes` must outlive this object.
    FrontInput(base::Loop& loop, const agent::StdinPlan& plan, std::vector<NodeState>& nodes, pid_t guard);
    /// Gives the terminal back.
    ~FrontInput() { terminal_.take_back(); }
    FrontInput(const FrontInput&) = delete;
    FrontInput& operator=(const FrontInput&) = delete;

    /// By the ranks as the list of hosts gives them.
    [[nodiscard]] bool goes_to(int host) const;
    /// To be called when a node has its order.
    void begin();
    void taken(int host, std::size_t bytes);
    /// A shell may have brought the job to the foreground; to be called from time to time.
    void resume() {
        if (has_begun_) watch();
    }

private:
    void watch();
    [[nodiscard]] bool may_read();
    void end();
    void on_readable();
    [[nodiscard]] std::size_t credit() const;
    void send(std::string_view bytes);

    base::Loop& loop_;
    const agent::StdinPlan& plan_;
    std::vector<NodeState>& nodes_;
    agent::Terminal terminal_;
    bool has_begun_ = false;
    bool is_at_end_ = false;
    base::Watch watch_;
};

}  // namespace dlaunch::launcher
