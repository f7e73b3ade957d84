#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/process/guard.hpp"
#include "agent/services/job_link.hpp"
#include "agent/services/socket.hpp"
#include "agent/services/socket_file.hpp"
#include "launcher/start/front_plan.hpp"

namespace dlaunch::launcher {

/// The front end's own socket, at which `dlaunch ps` finds its job. Workers do not use it.
class FrontStatus {
public:
    /// The loop and the plan must outlive this object. `state`: one word.
    FrontStatus(base::Loop& loop, const FrontPlan& plan, agent::GuardLink& link, std::function<std::string()> state);

private:
    std::shared_ptr<agent::SocketFile> file_ = std::make_shared<agent::SocketFile>();
    agent::JobLink link_;
    std::unique_ptr<agent::AgentSocket> socket_;
};

}  // namespace dlaunch::launcher
