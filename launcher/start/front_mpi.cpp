#include "launcher/start/front_mpi.hpp"

#include "launcher/plan_mpi.hpp"

namespace dlaunch::launcher {

base::Result<agent::MpiFamily> front_mpi(const std::vector<ContextRequest>& contexts, const Deps& deps,
                                         const agent::Plan& job) {
    agent::Plan all = job;
    bool are_same = true;
    std::vector<std::string> known;  // warnings of the job, too
    for (std::size_t place = 1; place < contexts.size(); ++place) {
        ContextRequest alone{contexts.front().settings, contexts[place].program};
        alone.settings.program = contexts[place].settings.program;
        alone.settings.plan.virtual_local_rank = false;  // devices are the nodes' own
        auto plan = make_plan({std::move(alone)}, deps, known);
        if (!plan) return plan.error();
        all.contexts.push_back(plan->contexts.front());
        are_same = are_same && all.contexts.back().program.mpi == job.contexts.front().program.mpi;
    }
    if (are_same) return job.contexts.front().program.mpi;
    if (auto done = plan_mpi(contexts.front().settings, deps, all, known); !done) return done.error();
    return all.contexts.front().program.mpi;
}

}  // namespace dlaunch::launcher
