#include "launcher/start/make_front_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "launcher/hosts/hostfile.hpp"
#include "launcher/hosts/placement.hpp"
#include "launcher/plan.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// Options that the front end itself carries out, beside those of Group::hosts.
constexpr std::array<std::string_view, 16> kOfFrontEnd{"nnodes",     "nproc-per-node", "rdzv-backend", "rdzv-endpoint",
                                                       "rdzv-id",    "standalone",     "node-rank",    "master-addr",
                                                       "local-addr", "report",         "event-log",    "dry-run",
                                                       "config",     "quiet",          "verbose",      "requeue"};

Result<std::vector<HostEntry>> hosts_from_file(const std::string& path, const Deps& deps, const std::string& spelling,
                                               decltype(&parse_hostfile) parse) {
    auto text = deps.read_file(path);
    if (!text)
        return Error{fmt::format("{}: cannot be read ({}), expected a file with a host on each line", spelling,
                                 text.error().text)};
    return parse(*text, path);
}

/// The nodes of SLURM's allocation, with as many slots as it gives tasks.
Result<std::vector<HostEntry>> allocated_hosts(const Deps& deps) {
    for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"})
        if (const auto list = deps.host.set_variable(name)) return parse_host_list(*list);
    return Error{"--launcher=srun: no allocation (SLURM_JOB_NODELIST is not set), expected salloc, sbatch or --hosts"};
}

/// The hosts of the job, from the strongest source that names some.
Result<std::vector<HostEntry>> listed_hosts(const Settings& settings, const Deps& deps) {
    const HostOptions& options = settings.hosts;
    if (!options.hosts.empty() && !options.hostfile.empty())
        return Error{fmt::format("{} and {} contradict each other, expected one of them", settings.spelling("hosts"),
                                 settings.spelling("hostfile"))};
    if (!options.hosts.empty()) return options.hosts;
    if (!options.hostfile.empty())
        return hosts_from_file(options.hostfile, deps, settings.spelling("hostfile"), parse_hostfile);
    if (const auto file = deps.host.set_variable("WCOLL"); file && settings.has("launcher"))
        return hosts_from_file(*file, deps, "WCOLL=" + *file, parse_wcoll);
    if (options.starter == Starter::srun) return allocated_hosts(deps);
    return Error{fmt::format("{}: no hosts, expected --hosts, --hostfile or WCOLL", settings.spelling("launcher"))};
}

WorkerWish wish_of(const Settings& settings) {
    using Kind = WorkerCount::Kind;
    if (!settings.has("nproc-per-node")) return {};
    switch (settings.workers.kind) {
        case Kind::number: return {WorkerWish::Kind::per_host, settings.workers.number};
        case Kind::total: return {WorkerWish::Kind::total, settings.workers.number};
        default: return {WorkerWish::Kind::host_knows, 0};
    }
}

Result<Placement> placement_of(const Settings& settings, const Deps& deps) {
    auto listed = listed_hosts(settings, deps);
    if (!listed) return listed.error();
    const OptionSpelling spelling = [&settings](std::string_view option) { return settings.spelling(option); };
    const HostOptions& options = settings.hosts;
    auto selected =
        select_hosts(*listed, {options.include, options.exclude, options.num_nodes, options.num_gpus}, spelling);
    if (!selected) return selected.error();
    PlacementRequest request{std::move(*selected), std::nullopt, {wish_of(settings)}};
    if (settings.has("nnodes"))
        request.nodes = {settings.plan.rendezvous.min_nodes, settings.plan.rendezvous.max_nodes};
    return place(request, spelling);
}

JobWords job_words(const Settings& settings, const std::vector<OptionUse>& uses, std::vector<std::string> program,
                   const agent::RendezvousPlan& rendezvous) {
    JobWords words{settings.called, {}, {}, std::move(program)};
    words.options = {fmt::format("--nnodes={}:{}", rendezvous.min_nodes, rendezvous.max_nodes), "--rdzv-backend=c10d",
                     "--rdzv-id=" + rendezvous.job_id};
    if (settings.verbose) words.options.emplace_back("--verbose");
    const auto own = words_for_nodes(uses);
    words.options.insert(words.options.end(), own.begin(), own.end());
    for (const OptionUse& use : uses)
        if (use.option->key() == "nproc-per-node") words.count = use.value;
    return words;
}

/// The coordinator's plan: the job's sizes and times. Its one worker stands for those of the nodes, which count their
/// cores and devices themselves.
Result<agent::Plan> coordinators_plan(Settings settings, const std::vector<std::string>& program, const Deps& deps,
                                      const Placement& placement) {
    settings.plan.rendezvous.min_nodes = placement.nodes.min;
    settings.plan.rendezvous.max_nodes = placement.nodes.max;
    settings.plan.rendezvous.backend = agent::Backend::c10d;
    settings.plan.rendezvous.node_rank.reset();
    settings.standalone = false;
    settings.endpoint = "127.0.0.1:1";  // the ports are chosen at the start
    int workers = 0;
    for (const PlacedHost& host : placement.hosts) workers += host.shares.front().workers;
    settings.workers = {WorkerCount::Kind::number, std::max(1, workers)};
    if (!settings.job_id) settings.job_id = deps.fresh_id();
    std::vector<std::string> known;  // warnings, which the nodes have, too
    auto plan = make_plan(settings, program, deps, known);
    if (!plan) return plan.error();
    plan->rendezvous.expected_hosts.clear();
    return plan;
}

/// --nnodes as given, for hosts that are not known yet.
Result<Placement> placement_to_come(const Settings& settings) {
    if (!settings.hosts.hosts.empty() || !settings.hosts.hostfile.empty())
        return Error{fmt::format("{} names the hosts, expected no list of hosts beside it",
                                 settings.spelling("host-discovery-script"))};
    if (settings.hosts.starter == Starter::srun)
        return Error{
            fmt::format("{}: expected another launcher with it, srun starts all hosts of an allocation at once",
                        settings.spelling("host-discovery-script"))};
    Placement placement;
    placement.nodes = {settings.plan.rendezvous.min_nodes, settings.plan.rendezvous.max_nodes};
    return placement;
}

}  // namespace

FrontNode front_node(const JobWords& given, StarterHost host, int workers, const std::vector<int>& slots) {
    FrontNode node{std::move(host), {given.called}, workers};
    node.words.push_back("--nproc-per-node=" + (workers > 0 ? std::to_string(workers) : given.count));
    if (!slots.empty()) node.words.push_back(fmt::format("--env=CUDA_VISIBLE_DEVICES={}", fmt::join(slots, ",")));
    node.words.insert(node.words.end(), given.options.begin(), given.options.end());
    node.words.emplace_back("--");
    node.words.insert(node.words.end(), given.program.begin(), given.program.end());
    return node;
}

bool starts_nodes(const Settings& settings) {
    return !settings.hosts.hosts.empty() || !settings.hosts.hostfile.empty() || settings.has("launcher") ||
           !settings.hosts.host_discovery_script.empty();
}

std::vector<std::string> words_for_nodes(const std::vector<OptionUse>& uses) {
    std::vector<std::string> words;
    for (const OptionUse& use : uses) {
        const Option& option = *use.option;
        if (option.group == Group::hosts || std::ranges::find(kOfFrontEnd, option.key()) != kOfFrontEnd.end()) continue;
        words.push_back(fmt::format("--{}={}", option.name, use.value));
    }
    return words;
}

Result<FrontPlan> make_front_plan(const Settings& settings, const std::vector<OptionUse>& uses,
                                  const std::vector<std::string>& program, const Deps& deps) {
    if (settings.standalone) return Error{settings.spelling("standalone") + ": expected no hosts beside it"};
    const bool discovers = !settings.hosts.host_discovery_script.empty();
    const auto placement = discovers ? placement_to_come(settings) : placement_of(settings, deps);
    if (!placement) return placement.error();
    auto job = coordinators_plan(settings, program, deps, *placement);
    if (!job) return job.error();
    FrontPlan plan;
    plan.job = std::move(*job);
    plan.words = job_words(settings, uses, program, plan.job.rendezvous);
    for (const auto* hosts : {&placement->hosts, &placement->spares})
        for (const PlacedHost& host : *hosts)
            plan.nodes.push_back(front_node(plan.words, {host.host.name, host.host.user}, host.shares.front().workers,
                                            host.host.slot_ids));
    plan.discovery_script = settings.hosts.host_discovery_script;
    if (const WorkerWish wish = wish_of(settings); wish.kind == WorkerWish::Kind::per_host)
        plan.workers_per_host = static_cast<int>(wish.number);
    plan.launcher = settings.hosts.starter;
    plan.launcher_args = settings.hosts.launcher_args;
    plan.launch_timeout = settings.hosts.launch_timeout;
    plan.remote_program = settings.hosts.remote_dlaunch;
    plan.copies = settings.hosts.copy;
    plan.sent = exported(settings.hosts.exported, deps.host.environment);
    plan.folder = deps.current_folder();
    return plan;
}

}  // namespace dlaunch::launcher
