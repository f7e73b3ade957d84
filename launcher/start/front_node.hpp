#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launcher/start/frame_socket.hpp"
#include "launcher/start/front_plan.hpp"
#include "launcher/start/starter_process.hpp"

namespace dlaunch::launcher {

/// A host while the front end runs.
struct NodeState {
    std::unique_ptr<StarterProcess> starter;  ///< of srun: in the first host's state, for all
    std::unique_ptr<FrameSocket> socket;      ///< from its agent's hello to its end
    bool has_order = false;                   ///< the job runs there
    bool shows_end = false;                   ///< its output has ended
    std::size_t input_credit = kInputCredit;
    std::optional<NodeEnd> end;  ///< of its dlaunch, or the loss of the agent
};

}  // namespace dlaunch::launcher
