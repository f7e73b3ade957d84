#include "agent/service_files.hpp"

#include <utility>

namespace dlaunch::agent {

Output::OtherFiles work_on(const std::shared_ptr<ServiceFiles>& files, const Plan& plan) {
    const auto make = [files, &plan]() -> base::Result<void> {
        if (!plan.timers.enabled) return {};
        auto pipe = TimerFifo::make(plan.timers.path, plan.temporary_folder);
        if (!pipe) return pipe.error();
        files->timers = std::move(*pipe);
        return {};
    };
    const auto make_in = [files, &plan](const RunPaths& paths) {
        files->socket.make(plan.logs.keeps_files() ? "" : paths.folder(), plan.temporary_folder);
        files->link.make(plan.runtime_folder, files->socket.path());
    };
    const auto remove = [files] {
        files->timers.remove();
        files->link.remove();
        files->socket.remove();
    };
    return {make, make_in, remove};
}

}  // namespace dlaunch::agent
