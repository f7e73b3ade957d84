#include "launcher/slurm/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "launcher/cli/split.hpp"
#include "launcher/slurm/requeue.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::int64_t kMostAllocated = 65'536, kMostOnNode = 4'096;

/// Workers of dlaunch inherit SLURM's variables; a dlaunch that a worker starts is a job of its own.
bool is_worker(const agent::Host& host) { return host.variable("DLAUNCH_ROUND").has_value(); }

bool gives_any(const Settings& settings, std::initializer_list<std::string_view> options) {
    return std::ranges::any_of(options, [&](std::string_view option) { return settings.has(option); });
}

/// The coordinator's place: the step's first node, at the step's port or --master-port. With the static backend, which
/// --master-port implies, it is also the workers' store.
void set_endpoint(const SlurmStep& step, Settings& settings) {
    if (gives_any(settings, {"rdzv-endpoint", "master-addr"})) return;
    auto& rendezvous = settings.plan.rendezvous;
    const int port = settings.master_port.value_or(step.port());
    if (!gives_any(settings, {"rdzv-backend", "master-port"})) rendezvous.backend = agent::Backend::c10d;
    if (rendezvous.backend == agent::Backend::fixed_address) {
        settings.master_addr = step.hosts.front();
        settings.master_port = port;
    } else {
        settings.endpoint = fmt::format("{}:{}", step.hosts.front(), port);
    }
    if (!settings.rdzv_conf.is_host) settings.rdzv_conf.is_host = step.node == 0;
}

void share_agent(const SlurmStep& step, Settings& settings) {
    const int tasks = step.tasks_here();
    if (tasks == 1) return;
    if (!settings.has("nproc-per-node")) settings.workers = {WorkerCount::Kind::number, tasks};
    settings.plan.tasks = {
        .socket = fmt::format("slurm-{}-{}", step.name(), step.node), .count = tasks, .index = step.local_task};
}

}  // namespace

base::Result<std::optional<SlurmStep>> step_of_job(const agent::Host& host, const Settings& settings) {
    const std::string_view called = std::string_view(settings.called).substr(settings.called.rfind('/') + 1);
    if (settings.standalone || called == "torchrun" || is_worker(host)) return std::optional<SlurmStep>();
    return slurm_step(host);
}

base::Result<void> apply_step(const SlurmStep& step, Settings& settings) {
    const int nodes = static_cast<int>(step.hosts.size());
    auto& rendezvous = settings.plan.rendezvous;
    const int tasks = std::accumulate(step.tasks.begin(), step.tasks.end(), 0);
    if (rendezvous.min_nodes > tasks && settings.has("nnodes") &&
        !gives_any(settings, {"rdzv-endpoint", "master-addr"}))
        return base::Error{
            fmt::format("{}: this step of srun has {} task{}, and no others can join, expected at most {}",
                        settings.spelling("nnodes"), tasks, tasks == 1 ? "" : "s", tasks)};
    if (!settings.has("nnodes")) rendezvous.min_nodes = rendezvous.max_nodes = nodes;
    if (!settings.job_id) settings.job_id = step.name();
    settings.node_name = step.host();
    settings.plan.reports_own_only = true;  // srun collects the stderr of all nodes
    if (rendezvous.max_nodes > 1) set_endpoint(step, settings);
    if (rendezvous.max_nodes <= nodes) share_agent(step, settings);
    return {};
}

bool is_later_task(const agent::Host& host) {
    const auto step = is_worker(host) ? base::Result<std::optional<SlurmStep>>(std::nullopt) : slurm_step(host);
    return step && *step && (**step).local_task > 0;
}

void apply_requeue(const agent::Host& host, Settings& settings) {
    if (!settings.requeue) return;
    auto commands = requeue_commands(host);
    if (commands)
        settings.plan.requeue = std::move(*commands);
    else
        settings.warnings.push_back(
            fmt::format("{}: no effect, {}", settings.spelling("requeue"), commands.error().text));
}

std::optional<std::string> unused_nodes(const agent::Host& host, const Settings& settings) {
    const auto nodes = whole_number(host.variable("SLURM_JOB_NUM_NODES").value_or(""), 2, kMostAllocated);
    const auto components = whole_number(host.variable("SLURM_HET_SIZE").value_or(""), 2, kMostAllocated);
    const bool is_mentioned = gives_any(settings, {"nnodes", "standalone", "rdzv-endpoint", "master-addr",
                                                   "master-port", "node-rank", "launcher", "hosts", "hostfile"});
    if ((!nodes && !components) || is_mentioned || is_worker(host) || !host.set_variable("SLURM_JOB_ID"))
        return std::nullopt;
    const auto step = slurm_step(host);
    if (!step || *step) return std::nullopt;
    if (components)
        return fmt::format(
            "SLURM's job has {} components and this job uses one node; srun --het-group=0-{} dlaunch ... uses all of "
            "them, --nnodes=1 omits this line",
            *components, *components - 1);
    return fmt::format(
        "SLURM has allocated {} nodes and this job uses one; srun dlaunch ... uses all of them, --nnodes=1 omits this "
        "line",
        *nodes);
}

std::optional<std::string> unused_components(const agent::Host& host, const Settings& settings) {
    const auto components = whole_number(host.variable("SLURM_HET_SIZE").value_or(""), 2, kMostAllocated);
    const bool is_mentioned = gives_any(settings, {"hosts", "hostfile"});
    if (!components || is_mentioned || settings.hosts.starter != Starter::srun) return std::nullopt;
    return fmt::format(
        "SLURM's job has {} components and --launcher=srun uses the nodes of one; srun --het-group=0-{} dlaunch ... "
        "uses all of them",
        *components, *components - 1);
}

std::optional<std::string> narrow_affinity(const agent::Host& host, int workers) {
    if (!host.set_variable("SLURM_JOB_ID") || workers <= host.usable_cores) return std::nullopt;
    return fmt::format(
        "{} workers share {} usable core{} of this node; srun --cpus-per-task or --cpu-bind=none gives more", workers,
        host.usable_cores, host.usable_cores == 1 ? "" : "s");
}

std::optional<std::string> bound_gpus(const agent::Host& host, const agent::TaskPlan& tasks) {
    const auto all = whole_number(host.variable("SLURM_GPUS_ON_NODE").value_or(""), 1, kMostOnNode);
    const auto own = host.set_variable("SLURM_STEP_GPUS");
    if (tasks.count == 1 || tasks.index > 0 || !all || !own || own->find('-') != own->npos) return std::nullopt;
    const auto bound = static_cast<std::int64_t>(split(*own, ',').size());
    if (bound >= *all) return std::nullopt;
    return fmt::format(
        "the workers of this node share {} of its {} GPUs: srun has bound them to the first of {} tasks; "
        "--gpus-per-node={} in place of --gpus-per-task, and no --gpu-bind, gives all",
        bound, *all, tasks.count, *all);
}

std::optional<int> slurm_gpus(const agent::Host& host, const std::optional<std::string>& visible) {
    if (!host.set_variable("SLURM_JOB_ID")) return std::nullopt;
    if (const auto count = whole_number(host.variable("SLURM_GPUS_ON_NODE").value_or(""), 1, kMostOnNode))
        return static_cast<int>(*count);
    const auto devices = visible ? split(*visible, ',') : std::vector<std::string_view>();
    const auto count = std::ranges::count_if(devices, [](std::string_view one) { return !trimmed(one).empty(); });
    return count > 0 ? std::optional(static_cast<int>(count)) : std::nullopt;
}

}  // namespace dlaunch::launcher
