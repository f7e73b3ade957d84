#include "agent/group/node_status.hpp"

#include <nlohmann/json.hpp>

namespace dlaunch::agent {

std::string node_status(const Plan& plan, const NodeFacts& node, const GroupShell& round) {
    using Json = nlohmann::ordered_json;
    Json workers = Json::array();
    for (const Worker& worker : round.workers().all()) {
        Json one{{"rank", worker.rank},
                 {"local_rank", worker.local_rank},
                 {"role", plan.context_of(worker.local_rank).program.role},
                 {"pid", worker.pid},
                 {"alive", worker.alive}};
        if (worker.pid != 0 && !worker.alive) one["status"] = worker.exit_status();
        workers.push_back(std::move(one));
    }
    const Assignment& assignment = round.assignment();
    const Json status{{"job", plan.rendezvous.job_id},
                      {"host", node.host},
                      {"node", node.node_id},
                      {"state", round.state()},
                      {"round", assignment.round},
                      {"restart_count", assignment.restart_count},
                      {"world_size", assignment.world_size},
                      {"workers", std::move(workers)}};
    return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dlaunch::agent
