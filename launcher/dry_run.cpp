#include "launcher/dry_run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/group/environment.hpp"
#include "agent/logs/run_directory.hpp"
#include "agent/membership/net_options.hpp"
#include "launcher/plan_ranks.hpp"
#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/text.hpp"
#include "rendezvous/rounds/ranks.hpp"

namespace dlaunch::launcher {
namespace {

using Json = nlohmann::ordered_json;

/// For values that are unknown before the start.
constexpr const char* kChosenAtStart = "(chosen at start)";

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

/// The first round of a job started with this plan.
agent::Assignment first_round(const agent::Plan& plan) {
    agent::Assignment round;
    rendezvous::RankRequest only{.blocks = agent::worker_blocks(plan)};
    rendezvous::Placement placement = rendezvous::place({only}).of.front();
    round.world_size = placement.world_size;
    round.ranks = std::move(placement.ranks);
    round.master_addr = plan.rendezvous.master_addr.empty() ? kChosenAtStart : plan.rendezvous.master_addr;
    round.master_port = plan.rendezvous.master_port.value_or(0);
    round.relayed = plan.rendezvous.relays_store() && plan.rendezvous.max_nodes > 1;
    round.max_restarts = plan.restarts.max_restarts;
    return round;
}

/// The run's folder. `*` stands for its date and for random characters.
std::string run_directory(const agent::Plan& plan) {
    if (!plan.logs.directory.empty())
        return fmt::format("{}/{}_*", plan.logs.directory, agent::safe_file_name(plan.rendezvous.job_id));
    if (!plan.logs.keeps_files()) return plan.temporary_folder + "/dlaunch_*";
    return fmt::format("{}/dlaunch-*-{}-*", plan.temporary_folder,
                       agent::safe_file_name(plan.contexts.front().program.name()));
}

Json files_of(const agent::Plan& plan, const std::string& directory, int local_rank) {
    if (!plan.logs.keeps_files() && plan.logs.directory.empty())  // one temporary folder
        return {{"error", fmt::format("{}/error_0_{}.json", directory, local_rank)}};
    std::string folder = fmt::format("{}/attempt_0/{}", directory, local_rank);
    unsigned streams = plan.logs.redirects.of(local_rank) | plan.logs.tee.of(local_rank);
    Json files = {{"error", folder + "/error.json"}};
    if (streams & agent::kStdout) files["stdout"] = folder + "/stdout.log";
    if (streams & agent::kStderr) files["stderr"] = folder + "/stderr.log";
    return files;
}

Json environment_of(const agent::Plan& plan, const agent::Assignment& round, int local_rank,
                    const std::string& error_file) {
    agent::NodeFacts node{plan.host.name, kChosenAtStart, kChosenAtStart, plan.host.usable_cores};
    Json variables = Json::object();
    for (const auto& [name, value] : agent::worker_variables(plan, round, node, local_rank, error_file))
        variables[name] = value;
    if (round.store_port() == 0) variables["MASTER_PORT"] = kChosenAtStart;
    if (!agent::own_variable(plan, plan.context_of(local_rank), "JAX_COORDINATOR_ADDRESS"))
        variables["JAX_COORDINATOR_ADDRESS"] = kChosenAtStart;
    return variables;
}

Json contexts(const agent::Plan& plan) {
    Json all = Json::array();
    for (const agent::Context& context : plan.contexts) {
        const std::string& folder = context.program.working_directory;
        all.push_back({{"appnum", context.appnum},
                       {"workers", context.workers},
                       {"role", context.program.role},
                       {"working_directory", folder.empty() ? "." : folder}});
    }
    return all;
}

Json rendezvous(const agent::RendezvousPlan& plan) {
    Json json = {{"job_id", plan.job_id},
                 {"standalone", plan.standalone},
                 {"backend", plan.backend == agent::Backend::c10d ? "c10d" : "static"},
                 {"endpoint", plan.endpoint}};
    json["master_addr"] = plan.master_addr.empty() ? Json(kChosenAtStart) : Json(plan.master_addr);
    json["master_port"] = plan.master_port ? Json(*plan.master_port) : Json(kChosenAtStart);
    if (plan.node_rank) json["node_rank"] = *plan.node_rank;
    if (!plan.local_addr.empty()) json["local_addr"] = plan.local_addr;
    if (plan.is_host) json["is_host"] = *plan.is_host;
    json["join_timeout_seconds"] = seconds(plan.join_timeout);
    json["last_call_seconds"] = seconds(plan.last_call);
    json["node_timeout_seconds"] = seconds(plan.node_timeout);
    json["scale_up"] = plan.scale_up == agent::ScaleUp::immediate ? "immediate"
                       : plan.scale_up == agent::ScaleUp::never   ? "never"
                                                                  : "on-restart";
    json["token"] = plan.token != nullptr;
    json["store"] = plan.relays_store() ? "relay" : "open";
    if (!plan.expected_hosts.empty()) json["expected_hosts"] = plan.expected_hosts;
    return json;
}

Json stopping(const agent::Plan& plan) {
    Json handled = Json::array();
    for (int signal : plan.handled_signals) handled.push_back(base::signal_name(signal));
    return {{"handled_signals", handled},
            {"stop_signal", base::signal_name(plan.stop_signal)},
            {"grace_seconds", seconds(plan.grace)},
            {"settle_seconds", seconds(plan.settle)},
            {"timeout_seconds", plan.timeout.count() ? Json(seconds(plan.timeout)) : Json()}};
}

Json restarts(const agent::RestartPlan& plan) {
    return {{"max_restarts", plan.max_restarts},
            {"backoff_first_seconds", seconds(plan.first)},
            {"backoff_most_seconds", seconds(plan.most)},
            {"crash_loop", plan.crash_loop},
            {"node_cooldown_first_seconds", seconds(plan.cooldown_first)},
            {"node_cooldown_most_seconds", seconds(plan.cooldown_most)}};
}

Json shown_ranks(const agent::LogPlan& plan) { return plan.shown ? Json(*plan.shown) : Json("all"); }

Json logs(const agent::LogPlan& plan, const std::string& directory) {
    return {{"directory", directory},
            {"keeps_files", plan.keeps_files()},
            {"prefix", plan.prefix_template},
            {"shown_local_ranks", shown_ranks(plan)},
            {"stdout_filters", plan.stdout_filters},
            {"stderr_filters", plan.stderr_filters},
            {"timestamps", plan.timestamps},
            {"fold", plan.fold},
            {"rotate_bytes", plan.rotate_bytes},
            {"rotate_keep", plan.rotate_keep}};
}

base::Result<std::vector<std::vector<int>>> processors(const agent::Plan& plan, const Deps& deps) {
    agent::Topology topology;
    if (plan.binding != agent::Binding::none) {
        auto found = deps.topology(agent::shared_variables(plan));
        if (!found) return found.error();
        topology = std::move(*found);
    }
    return agent::bind_workers(topology, plan.binding, plan.workers());
}

}  // namespace

base::Result<std::string> dry_run(const agent::Plan& plan, const Deps& deps) {
    auto units = processors(plan, deps);
    if (!units) return units.error();
    const agent::Assignment round = first_round(plan);
    const std::string directory = run_directory(plan);

    Json workers = Json::array();
    for (int local_rank = 0; local_rank < plan.workers(); ++local_rank) {
        Json files = files_of(plan, directory, local_rank);
        const auto& bound = units->at(static_cast<std::size_t>(local_rank));
        Json worker = {{"rank", round.ranks.rank(local_rank)}, {"local_rank", local_rank}};
        worker["command"] = agent::worker_command(plan, round, local_rank);
        worker["environment"] = environment_of(plan, round, local_rank, files["error"].get<std::string>());
        worker["processors"] = bound.empty() ? Json("any") : Json(base::number_ranges(bound));
        worker["files"] = std::move(files);
        workers.push_back(std::move(worker));
    }
    Json job = {{"nodes", {{"min", plan.rendezvous.min_nodes}, {"max", plan.rendezvous.max_nodes}}}};
    job["workers_per_node"] = plan.workers();
    job["contexts"] = contexts(plan);
    job["start_method"] = plan.forks ? "fork" : "spawn";
    job["mpi"] = agent::name(plan.contexts.front().program.mpi);
    job["stdin"] = standard_input_text(plan);
    job["rendezvous"] = rendezvous(plan.rendezvous);
    job["restarts"] = restarts(plan.restarts);
    job["stopping"] = stopping(plan);
    job["logs"] = logs(plan.logs, directory);
    job["report"] = plan.report_file.empty() ? Json() : Json(plan.report_file);
    job["event_log"] = plan.event_log.empty() ? Json() : Json(plan.event_log);
    job["workers"] = std::move(workers);
    // Arguments may be invalid UTF-8, which must not be an error.
    return base::text_result(job.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace dlaunch::launcher
