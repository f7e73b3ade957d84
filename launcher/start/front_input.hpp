#pragma once

#include <vector>

#include "launcher/start/front_node.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// Copies the front end's standard input to the nodes whose workers read it (--stdin). The slowest of these nodes sets
/// the pace.
class FrontInput {
public:
    /// `plan` and `nodes` must outlive this object.
    FrontInput(base::Loop& loop, const agent::StdinPlan& plan, std::vector<NodeState>& nodes);

    /// By the ranks as the list of hosts gives them.
    [[nodiscard]] bool goes_to(int host) const;
    /// To be called when a node has its order.
    void begin();
    void taken(int host, std::size_t bytes);

private:
    void watch();
    void on_readable();
    [[nodiscard]] std::size_t credit() const;
    void send(std::string_view bytes);

    base::Loop& loop_;
    const agent::StdinPlan& plan_;
    std::vector<NodeState>& nodes_;
    bool is_at_end_ = false;
    base::Watch watch_;
};

}  // namespace dlaunch::launcher
