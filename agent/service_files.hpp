#pragma once

#include <memory>

#include "agent/io/output.hpp"
#include "agent/plan.hpp"
#include "agent/services/job_link.hpp"
#include "agent/services/socket_file.hpp"
#include "agent/services/timer_fifo.hpp"

namespace dlaunch::agent {

/// The files of the agent's services. The I/O thread makes and removes them; between the two the control loop uses
/// them.
struct ServiceFiles {
    SocketFile socket;
    JobLink link;
    TimerFifo timers;
};

/// The work on these files for Output::prepare(). `plan` must outlive the I/O thread.
[[nodiscard]] Output::OtherFiles work_on(const std::shared_ptr<ServiceFiles>& files, const Plan& plan);

}  // namespace dlaunch::agent
