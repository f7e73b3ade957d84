#include "agent/group/node_status.hpp"

#include <nlohmann/json.hpp>

#include "rendezvous/base/utc.hpp"

namespace dlaunch::agent {
namespace {

/// The nodes of one job have the same endpoint. Empty: no other node can join.
std::string endpoint_text(const RendezvousPlan& rendezvous) {
    if (rendezvous.standalone) return {};
    if (!rendezvous.endpoint.empty() || rendezvous.endpoints.places.empty()) return rendezvous.endpoint;
    return rendezvous.endpoints.places.front().text();
}

}  // namespace

std::string node_status(const Plan& plan, const NodeFacts& node, const GroupShell& round, const RunPaths& paths) {
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
    const RendezvousPlan& rendezvous = plan.rendezvous;
    const bool waits = round.workers().all().empty();
    const Json status{{"job", plan.rendezvous.job_id},
                      {"host", node.host},
                      {"node", node.node_id},
                      {"has_front_end", plan.has_front_end},
                      {"state", waits ? "waiting" : round.state()},
                      {"nodes", {{"min", rendezvous.min_nodes}, {"max", rendezvous.max_nodes}}},
                      {"endpoint", endpoint_text(rendezvous)},
                      {"program", plan.program_names()},
                      {"began", base::utc_text(node.began)},
                      {"logs", plan.logs.keeps_files() ? paths.folder() : ""},
                      {"round", assignment.round},
                      {"restart_count", assignment.restart_count},
                      {"world_size", assignment.world_size},
                      {"workers", std::move(workers)}};
    return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dlaunch::agent
