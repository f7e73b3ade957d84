#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/plan_ranks.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {
namespace {

const char* name_of(Starter kind) {
    switch (kind) {
        case Starter::ssh: return "ssh";
        case Starter::pdsh: return "pdsh";
        case Starter::srun: return "srun";
        case Starter::fork: return "fork";
        case Starter::manual: break;
    }
    return "manual";
}

/// Nodes that count their workers by themselves may turn out to have a single one.
std::string readers_of(const FrontPlan& plan) {
    const bool is_counted = !plan.nodes.empty() &&
                            std::ranges::none_of(plan.nodes, [](const FrontNode& node) { return node.workers == 0; });
    if (is_counted || plan.job.standard_input.mode != agent::StdinPlan::Mode::automatic)
        return standard_input_text(plan.job);
    return plan.job.contexts.front().program.mpi == agent::MpiFamily::none ? "(a single worker)" : "rank 0";
}

/// Names alone: a value may be a secret.
nlohmann::ordered_json environment_of(const Export& sent) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const std::string& variable : sent.variables)
        names.push_back(base::valid_utf8(variable.substr(0, variable.find('='))));
    return {{"keeps_the_hosts_own", sent.keeps_own}, {"exported", std::move(names)}};
}

}  // namespace

std::string front_dry_run(const FrontPlan& plan) {
    using Json = nlohmann::ordered_json;
    const auto text = [](const std::string& bytes) { return base::valid_utf8(bytes); };
    Json hosts = Json::array();
    for (std::size_t at = 0; at < plan.nodes.size(); ++at) {
        const FrontNode& node = plan.nodes[at];
        Json host = {{"name", node.host.name}};
        if (!node.host.user.empty()) host["user"] = node.host.user;
        host["workers"] = node.workers ? Json(node.workers) : Json("(counted on the host)");
        host["spare"] = static_cast<int>(at) >= plan.job.rendezvous.max_nodes;
        host["command"] = Json::array();
        for (const std::string& word : node.words) host["command"].push_back(text(word));
        hosts.push_back(std::move(host));
    }
    const Json json = {{"launcher", name_of(plan.launcher)},
                       {"nnodes", fmt::format("{}:{}", plan.job.rendezvous.min_nodes, plan.job.rendezvous.max_nodes)},
                       {"job_id", plan.job.rendezvous.job_id},
                       {"token", plan.job.rendezvous.token != nullptr},
                       {"stdin", readers_of(plan)},
                       {"folder", text(plan.folder)},
                       {"environment", environment_of(plan.sent)},
                       {"log_dir", text(plan.job.logs.directory)},
                       {"collect_logs", plan.collects_logs},
                       {"hosts", std::move(hosts)}};
    return json.dump(2) + "\n";
}

}  // namespace dlaunch::launcher
