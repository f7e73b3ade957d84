#include "launcher/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agent/group/environment.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/cli/words.hpp"
#include "launcher/slurm.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr int kElasticPort = 29400, kStaticPort = 29500;  // torchrun's

Error wrong(const Settings& settings, Id id, std::string_view expected) {
    return {fmt::format("{}: expected {}", settings.spelling(id), expected)};
}

/// The interpreter torchrun would have been started with, as far as one can tell from outside Python.
std::string python(const Deps& deps) {
    if (auto named = deps.host.set_variable("PYTHON_EXEC")) return *named;
    for (const char* home : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (auto prefix = deps.host.set_variable(home)) return *prefix + "/bin/python";
    return "python3";
}

Result<void> plan_program(const Settings& settings, const std::vector<std::string>& program, const Deps& deps,
                          agent::Plan& plan) {
    if (program.empty())
        return Error{"no program given, expected dlaunch [OPTIONS] PROGRAM [ARGS...]; see dlaunch --help"};
    if (program[0].empty()) return Error{"the program's name is empty, expected dlaunch [OPTIONS] PROGRAM [ARGS...]"};
    bool module = settings.module && !settings.run_path;
    if (module && settings.no_python)
        return Error{fmt::format("{} and {} contradict each other, expected one of them", settings.spelling(Id::module),
                                 settings.spelling(Id::no_python))};
    plan.program.is_python = settings.run_path || module || (!settings.no_python && program[0].ends_with(".py"));
    if (plan.program.is_python) plan.program.command = {python(deps), "-u"};
    if (module) plan.program.command.emplace_back("-m");
    plan.program.name_index = plan.program.command.size();
    plan.program.command.insert(plan.program.command.end(), program.begin(), program.end());
    plan.program.pass_local_rank = settings.pass_local_rank;
    plan.forks = settings.forks && !plan.program.is_python;  // torchrun's word has no effect on scripts
    return {};
}

/// A template is started once, for all ranks: nothing of one rank can be in its command.
Result<void> check_template(const Settings& settings, const agent::Plan& plan) {
    if (!plan.forks) return {};
    if (!settings.wraps.empty()) return wrong(settings, Id::start_method, "spawn with --wrap");
    agent::Assignment nobody;
    if (agent::worker_command(plan, nobody, 0) == agent::worker_command(plan, nobody, 1)) return {};
    return wrong(settings, Id::start_method,
                 "spawn where arguments name the local rank: a fork has those of all ranks");
}

Result<int> gpus(const Settings& settings, const agent::Plan& plan, const Deps& deps) {
    int found = deps.count_gpus(agent::given_variable(plan, "CUDA_VISIBLE_DEVICES"));
    if (found > 0) return found;
    return wrong(settings, Id::nproc_per_node,
                 "a GPU, none is visible (no NVIDIA driver, or CUDA_VISIBLE_DEVICES hides them)");
}

Result<int> count_workers(const Settings& settings, const agent::Plan& plan, const Deps& deps) {
    using Kind = WorkerCount::Kind;
    switch (settings.workers.kind) {
        case Kind::cpu: return deps.host.usable_cores;
        case Kind::gpu: return gpus(settings, plan, deps);
        case Kind::xpu:
            return wrong(settings, Id::nproc_per_node, "a number, cpu, gpu or auto: XPUs cannot be counted here");
        case Kind::automatic: {
            auto found = gpus(settings, plan, deps);
            return found ? *found : deps.host.usable_cores;
        }
        case Kind::number: break;
    }
    // What any kernel can run needs no look at this one's limit.
    constexpr int kAlwaysPossible = 300;
    if (settings.workers.number > kAlwaysPossible && settings.workers.number > deps.most_processes())
        return wrong(settings, Id::nproc_per_node,
                     fmt::format("at most {} workers, the limit of processes on this machine (kernel.pid_max)",
                                 deps.most_processes()));
    return static_cast<int>(settings.workers.number);
}

Result<void> check_devices(const Settings& settings, const agent::Plan& plan) {
    auto visible = agent::given_variable(plan, "CUDA_VISIBLE_DEVICES");
    if (!settings.virtual_local_rank || !visible || visible->empty()) return {};
    auto devices = split(*visible, ',').size();
    if (devices >= static_cast<std::size_t>(plan.workers)) return {};
    return wrong(settings, Id::virtual_local_rank,
                 fmt::format("a device for each of {} workers, CUDA_VISIBLE_DEVICES={} names {}", plan.workers,
                             *visible, devices));
}

/// A job of this node alone, which makes up its own port and id.
void plan_standalone(const Settings& settings, const Deps& deps, agent::RendezvousPlan& plan) {
    plan.standalone = true;
    plan.backend = agent::Backend::c10d;
    plan.endpoint = "localhost:0";
    plan.local_addr = settings.local_addr;
    bool own_id = settings.standalone || !settings.job_id;
    plan.job_id = own_id ? deps.fresh_id() : *settings.job_id;
}

/// Where the job's coordinator is. The static backend's is at --master-addr, unless an endpoint was given.
Result<void> plan_endpoints(const Settings& settings, agent::RendezvousPlan& plan) {
    const bool fixed = plan.backend == agent::Backend::fixed_address;
    plan.endpoint = settings.endpoint;
    plan.master_port = settings.master_port;
    if (settings.endpoint.empty()) {
        if (!fixed) return {};
        plan.endpoints.places = {{settings.master_addr, settings.master_port.value_or(kStaticPort)}};
    } else {
        auto endpoints = rendezvous::parse_endpoints(settings.endpoint, fixed ? kStaticPort : kElasticPort);
        if (!endpoints) return endpoints.error().within(settings.spelling(Id::rdzv_endpoint));
        plan.endpoints = std::move(*endpoints);
    }
    if (!fixed) return {};
    const rendezvous::Endpoint master = plan.endpoints.places.front();
    plan.endpoints.places = {master};
    plan.master_addr = master.host;
    plan.master_port = master.port;
    return {};
}

/// Nodes that find each other through a folder have no fixed address: static cannot be meant.
Result<agent::Backend> backend_of(const Settings& settings) {
    const bool folder = settings.endpoint.starts_with("file://");
    if (folder && settings.backend == agent::Backend::fixed_address && settings.spellings.contains(Id::rdzv_backend))
        return wrong(settings, Id::rdzv_backend, "c10d with an endpoint that is a folder");
    return folder ? agent::Backend::c10d : settings.backend;
}

/// --node-timeout, else torchrun's way to say it.
Result<std::chrono::milliseconds> node_timeout(const Settings& settings) {
    constexpr std::chrono::seconds kLeast{2};  // a node fences itself a second before; a busy machine needs the rest
    if (settings.node_timeout && *settings.node_timeout < kLeast)
        return wrong(settings, Id::node_timeout, "2 s at least");
    if (settings.node_timeout) return *settings.node_timeout;
    const RdzvConf& conf = settings.rdzv_conf;
    if (!conf.keep_alive_interval && !conf.keep_alive_max_attempt) return agent::RendezvousPlan{}.node_timeout;
    constexpr std::chrono::seconds kInterval{5};  // torchrun's
    constexpr int kAttempts = 3;                  // torchrun's
    const auto silence = conf.keep_alive_interval.value_or(kInterval) * conf.keep_alive_max_attempt.value_or(kAttempts);
    if (silence < kLeast)
        return wrong(settings, Id::rdzv_conf, "keep_alive_interval times keep_alive_max_attempt of 2 s at least");
    return silence;
}

/// torchrun's times. The static backend calls its join_timeout `timeout`, and has no read_timeout.
void plan_times(const RdzvConf& conf, agent::RendezvousPlan& plan) {
    const bool fixed = plan.backend == agent::Backend::fixed_address;
    const RdzvConf::Time& join = fixed && !conf.join_timeout ? conf.timeout : conf.join_timeout;
    plan.join_timeout = join.value_or(plan.join_timeout);
    plan.answer_timeout = fixed ? plan.join_timeout : conf.read_timeout.value_or(plan.join_timeout);
    plan.rejoin_timeout = conf.rejoin_timeout.value_or(plan.rejoin_timeout);
    plan.last_call = conf.last_call_timeout.value_or(plan.last_call);
}

/// The position among the nodes that SLURM gave this one: one process a task, whose number is the order.
std::string order_key(const Deps& deps) {
    return deps.host.variable("SLURM_JOB_ID") ? deps.host.variable("SLURM_PROCID").value_or("") : std::string();
}

/// Where a scheduler has given us exactly the nodes that the job wants, their names.
std::vector<std::string> expected_hosts(const Settings& settings, const Deps& deps) {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        auto list = deps.host.set_variable(name);
        if (!list) continue;
        auto hosts = expand_node_list(*list);
        if (hosts && hosts->size() == static_cast<std::size_t>(settings.nodes.max)) return std::move(*hosts);
    }
    return {};
}

/// Several nodes must be able to come to it; one that is alone may meet itself at any port.
Result<void> check_endpoint(const Settings& settings) {
    if (settings.nodes.min == 1 || settings.endpoint.empty()) return {};
    auto endpoints = rendezvous::parse_endpoints(settings.endpoint, kStaticPort);
    if (!endpoints) return {};  // it was checked where it was taken
    for (const rendezvous::Endpoint& place : endpoints->places) {
        if (place.port == 0) return wrong(settings, Id::rdzv_endpoint, "a port that the other nodes can know, not 0");
        if (place.host == "0.0.0.0" || place.host == "::")
            return wrong(settings, Id::rdzv_endpoint, "the name or address of one node");
    }
    return {};
}

Result<void> plan_rendezvous(const Settings& settings, const Deps& deps, agent::RendezvousPlan& plan) {
    bool one_node = settings.nodes.max == 1;
    if (settings.standalone && !one_node) return wrong(settings, Id::nnodes, "one node with --standalone");
    bool alone = settings.standalone || (one_node && settings.endpoint.empty() && !settings.master_port);
    if (!settings.standalone && settings.node_rank && *settings.node_rank >= settings.nodes.max)
        return wrong(settings, Id::node_rank, fmt::format("a rank below {}, the number of nodes", settings.nodes.max));
    plan.min_nodes = settings.nodes.min;
    plan.max_nodes = settings.nodes.max;
    plan.is_host = settings.rdzv_conf.is_host;
    if (alone) {
        plan_standalone(settings, deps, plan);
        return {};
    }
    if (auto fine = check_endpoint(settings); !fine) return fine;
    auto backend = backend_of(settings);
    if (!backend) return backend.error();
    plan.standalone = false;
    plan.backend = *backend;
    plan.scale_up = settings.scale_up;
    auto silence = node_timeout(settings);
    if (!silence) return silence.error();
    plan.node_timeout = *silence;
    plan.expected_hosts = expected_hosts(settings, deps);
    plan.local_addr = settings.local_addr;
    plan.node_rank = settings.node_rank;
    plan.job_id = settings.job_id.value_or(one_node ? deps.fresh_id() : rendezvous::kUnnamedJob);
    plan.order_key = order_key(deps);
    plan_times(settings.rdzv_conf, plan);
    return plan_endpoints(settings, plan);
}

Result<void> check_ranks(const Settings& settings, int workers, std::vector<std::string>& warnings) {
    const auto& shown = settings.logs.shown;
    if (shown && *shown->begin() >= workers)
        warnings.push_back(fmt::format("{}: no worker here has such a local rank, nothing of them is shown",
                                       settings.spelling(Id::local_ranks_filter)));
    if (settings.nodes.max > 1) return {};  // how many workers the others have they know
    bool chosen = settings.standard_input.mode == agent::StdinPlan::Mode::rank;
    if (chosen && settings.standard_input.rank >= workers)
        return wrong(settings, Id::stdin_of, fmt::format("a rank below {}, the number of workers", workers));
    for (const agent::Wrap& wrap : settings.wraps)
        if (wrap.ranks && *wrap.ranks->rbegin() >= workers)
            warnings.push_back(
                fmt::format("--wrap: there is no rank {} to run under {}", *wrap.ranks->rbegin(), wrap.words[0]));
    return {};
}

Result<void> check_files(const Settings& settings, const Deps& deps) {
    for (auto [id, path] :
         {std::pair(Id::report, &settings.report_file), std::pair(Id::event_log, &settings.event_log)}) {
        std::string reason = path->empty() ? "" : deps.why_not_writable(*path);
        if (!reason.empty()) return wrong(settings, id, fmt::format("a file that can be written: {}", reason));
    }
    return {};
}

void plan_ends(const Settings& settings, agent::Plan& plan) {
    plan.restarts.max_restarts = settings.max_restarts;
    plan.restarts.first = settings.backoff.first;
    plan.restarts.most = settings.backoff.most;
    plan.restarts.crash_loop = settings.crash_loop;
    plan.handled_signals = settings.handled_signals;
    plan.handled_signals_text = settings.handled_signals_text;
    plan.stop_signal = settings.stop_signal;
    plan.grace = settings.grace;
    plan.timeout = settings.timeout;
}

/// What variables decide for which there is no option.
void plan_from_environment(agent::Plan& plan) {
    const agent::Host& host = plan.host;
    plan.use_cgroups = host.variable("DLAUNCH_NO_CGROUP") != "1";
    plan.logs.colours = !host.set_variable("NO_COLOR") && host.variable("TERM") != "dumb";
    plan.timers.enabled = host.variable("TORCHELASTIC_ENABLE_FILE_TIMER") == "1";
    plan.timers.path = host.variable("TORCHELASTIC_TIMER_FILE").value_or("");
    plan.agent_error_file = host.variable("TORCHELASTIC_ERROR_FILE").value_or("");
}

}  // namespace

Result<agent::Plan> make_plan(const Settings& settings, const std::vector<std::string>& program, const Deps& deps,
                              std::vector<std::string>& warnings) {
    agent::Plan plan;
    plan.host = deps.host;
    plan.program.role = settings.role;
    plan.program.environment = settings.environment;
    plan.program.working_directory = settings.working_directory;
    plan.program.wraps = settings.wraps;
    plan.program.virtual_local_rank = settings.virtual_local_rank;
    if (auto done = plan_program(settings, program, deps, plan); !done) return done.error();
    if (auto done = check_template(settings, plan); !done) return done.error();
    auto workers = count_workers(settings, plan, deps);
    if (!workers) return workers.error();
    plan.workers = *workers;
    if (auto done = check_devices(settings, plan); !done) return done.error();
    if (auto done = plan_rendezvous(settings, deps, plan.rendezvous); !done) return done.error();
    if (auto done = check_ranks(settings, plan.workers, warnings); !done) return done.error();
    if (auto done = check_files(settings, deps); !done) return done.error();
    plan_ends(settings, plan);
    plan.logs = settings.logs;
    plan_from_environment(plan);
    plan.standard_input = settings.standard_input;
    plan.binding = settings.binding;
    plan.report_file = settings.report_file;
    plan.event_log = settings.event_log;
    plan.verbosity = (settings.verbose ? 1 : 0) - (settings.quiet ? 1 : 0);
    return plan;
}

}  // namespace dlaunch::launcher
