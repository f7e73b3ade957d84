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

constexpr int kStaticPort = 29500;  // torchrun's

Error wrong(const Settings& settings, Id id, std::string_view expected) {
    return {fmt::format("{}: expected {}", settings.spelling(id), expected)};
}

/// The interpreter torchrun would have been started with, as far as one can tell from outside Python.
std::string python(const Surroundings& surroundings) {
    if (auto named = surroundings.set_variable("PYTHON_EXEC")) return *named;
    for (const char* home : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (auto prefix = surroundings.set_variable(home)) return *prefix + "/bin/python";
    return "python3";
}

Result<void> plan_program(const Settings& settings, const std::vector<std::string>& program,
                          const Surroundings& surroundings, agent::Plan& plan) {
    if (program.empty())
        return Error{"no program given, expected dlaunch [OPTIONS] PROGRAM [ARGS...]; see dlaunch --help"};
    if (program[0].empty()) return Error{"the program's name is empty, expected dlaunch [OPTIONS] PROGRAM [ARGS...]"};
    bool module = settings.module && !settings.run_path;
    if (module && settings.no_python)
        return Error{fmt::format("{} and {} contradict each other, expected one of them", settings.spelling(Id::module),
                                 settings.spelling(Id::no_python))};
    plan.is_python = settings.run_path || module || (!settings.no_python && program[0].ends_with(".py"));
    if (plan.is_python) plan.command = {python(surroundings), "-u"};
    if (module) plan.command.emplace_back("-m");
    plan.program_index = plan.command.size();
    plan.command.insert(plan.command.end(), program.begin(), program.end());
    plan.pass_local_rank = settings.pass_local_rank;
    plan.forks = settings.forks && !plan.is_python;  // torchrun's word has no effect on scripts
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

Result<int> gpus(const Settings& settings, const Surroundings& surroundings) {
    int found = surroundings.count_gpus(surroundings.variable("CUDA_VISIBLE_DEVICES"));
    if (found > 0) return found;
    return wrong(settings, Id::nproc_per_node,
                 "a GPU, none is visible (no NVIDIA driver, or CUDA_VISIBLE_DEVICES hides them)");
}

Result<int> count_workers(const Settings& settings, const Surroundings& surroundings) {
    using Kind = WorkerCount::Kind;
    switch (settings.workers.kind) {
        case Kind::cpu: return surroundings.usable_cores;
        case Kind::gpu: return gpus(settings, surroundings);
        case Kind::xpu:
            return wrong(settings, Id::nproc_per_node, "a number, cpu, gpu or auto: XPUs cannot be counted here");
        case Kind::automatic: {
            auto found = gpus(settings, surroundings);
            return found ? *found : surroundings.usable_cores;
        }
        case Kind::number: break;
    }
    // What any kernel can run needs no look at this one's limit.
    constexpr int kAlwaysPossible = 300;
    if (settings.workers.number > kAlwaysPossible && settings.workers.number > surroundings.most_processes())
        return wrong(settings, Id::nproc_per_node,
                     fmt::format("at most {} workers, the limit of processes on this machine (kernel.pid_max)",
                                 surroundings.most_processes()));
    return static_cast<int>(settings.workers.number);
}

Result<void> check_devices(const Settings& settings, const Surroundings& surroundings, int workers) {
    auto visible = surroundings.set_variable("CUDA_VISIBLE_DEVICES");
    if (!settings.virtual_local_rank || !visible) return {};
    auto devices = split(*visible, ',').size();
    if (devices >= static_cast<std::size_t>(workers)) return {};
    return wrong(
        settings, Id::virtual_local_rank,
        fmt::format("a device for each of {} workers, CUDA_VISIBLE_DEVICES={} names {}", workers, *visible, devices));
}

/// A job of this node alone, which makes up its own port and id.
void plan_standalone(const Settings& settings, const Surroundings& surroundings, agent::RendezvousPlan& plan) {
    plan.standalone = true;
    plan.backend = "c10d";
    plan.endpoint = "localhost:0";
    plan.local_addr = settings.local_addr;
    bool own_id = settings.standalone || !settings.job_id;
    plan.job_id = own_id ? surroundings.fresh_id() : *settings.job_id;
}

void plan_static_address(const Settings& settings, agent::RendezvousPlan& plan) {
    plan.master_addr = settings.master_addr;
    plan.master_port = settings.master_port.value_or(kStaticPort);
    if (settings.endpoint.empty()) return;
    auto endpoints = rendezvous::parse_endpoints(settings.endpoint, kStaticPort);
    if (!endpoints) return;  // it was checked where it was taken
    plan.master_addr = endpoints->places.front().host;
    plan.master_port = endpoints->places.front().port;
}

/// Nodes that find each other through a folder have no fixed address: static cannot be meant.
Result<std::string> backend_of(const Settings& settings) {
    const bool folder = settings.endpoint.starts_with("file://");
    if (folder && settings.backend == "static" && settings.spellings.contains(Id::rdzv_backend))
        return wrong(settings, Id::rdzv_backend, "c10d with an endpoint that is a folder");
    return base::text_result(folder ? "c10d" : settings.backend);
}

/// --node-timeout, else torchrun's way to say it.
Result<std::chrono::milliseconds> node_timeout(const Settings& settings) {
    constexpr std::chrono::milliseconds kLeast{50};  // below that a busy machine loses all of its nodes
    if (settings.node_timeout && *settings.node_timeout < kLeast)
        return wrong(settings, Id::node_timeout, "0.05 s at least");
    if (settings.node_timeout) return *settings.node_timeout;
    const auto interval = settings.rdzv_conf.find("keep_alive_interval");
    const auto attempts = settings.rdzv_conf.find("keep_alive_max_attempt");
    const auto none = settings.rdzv_conf.end();
    if (interval == none && attempts == none) return agent::RendezvousPlan{}.node_timeout;
    constexpr std::chrono::seconds kInterval{5};  // torchrun's, as the 3
    const auto each = interval == none ? kInterval : parse_seconds(interval->second).value();
    const auto count = attempts == none ? 3 : whole_number(attempts->second, 1, 1'000'000).value_or(3);
    if (each * count < kLeast)
        return wrong(settings, Id::rdzv_conf, "keep_alive_interval times keep_alive_max_attempt of 0.05 s at least");
    return std::chrono::milliseconds(each * count);
}

/// Where a scheduler has given us exactly the nodes that the job wants, their names.
std::vector<std::string> expected_hosts(const Settings& settings, const Surroundings& surroundings) {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        auto list = surroundings.set_variable(name);
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

Result<void> plan_rendezvous(const Settings& settings, const Surroundings& surroundings, agent::RendezvousPlan& plan) {
    bool one_node = settings.nodes.max == 1;
    if (settings.standalone && !one_node) return wrong(settings, Id::nnodes, "one node with --standalone");
    bool alone = settings.standalone || (one_node && settings.endpoint.empty() && !settings.master_port);
    if (!settings.standalone && settings.node_rank && *settings.node_rank >= settings.nodes.max)
        return wrong(settings, Id::node_rank, fmt::format("a rank below {}, the number of nodes", settings.nodes.max));
    plan.min_nodes = settings.nodes.min;
    plan.max_nodes = settings.nodes.max;
    plan.conf = settings.rdzv_conf;
    if (alone) {
        plan_standalone(settings, surroundings, plan);
        return {};
    }
    if (auto fine = check_endpoint(settings); !fine) return fine;
    auto backend = backend_of(settings);
    if (!backend) return backend.error();
    plan.standalone = false;
    plan.backend = std::move(*backend);
    plan.scale_up = settings.scale_up;
    auto silence = node_timeout(settings);
    if (!silence) return silence.error();
    plan.node_timeout = *silence;
    plan.expected_hosts = expected_hosts(settings, surroundings);
    plan.endpoint = settings.endpoint;
    plan.local_addr = settings.local_addr;
    plan.node_rank = settings.node_rank;
    plan.job_id = settings.job_id.value_or(one_node ? surroundings.fresh_id() : rendezvous::kUnnamedJob);
    if (plan.backend == "static")
        plan_static_address(settings, plan);
    else
        plan.master_port = settings.master_port;
    return {};
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

Result<void> check_files(const Settings& settings, const Surroundings& surroundings) {
    for (auto [id, path] :
         {std::pair(Id::report, &settings.report_file), std::pair(Id::event_log, &settings.event_log)}) {
        std::string reason = path->empty() ? "" : surroundings.why_not_writable(*path);
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

}  // namespace

Result<agent::Plan> make_plan(const Settings& settings, const std::vector<std::string>& program,
                              const Surroundings& surroundings, std::vector<std::string>& warnings) {
    agent::Plan plan;
    if (auto done = plan_program(settings, program, surroundings, plan); !done) return done.error();
    if (auto done = check_template(settings, plan); !done) return done.error();
    auto workers = count_workers(settings, surroundings);
    if (!workers) return workers.error();
    plan.workers = *workers;
    if (auto done = check_devices(settings, surroundings, plan.workers); !done) return done.error();
    if (auto done = plan_rendezvous(settings, surroundings, plan.rendezvous); !done) return done.error();
    if (auto done = check_ranks(settings, plan.workers, warnings); !done) return done.error();
    if (auto done = check_files(settings, surroundings); !done) return done.error();
    plan_ends(settings, plan);
    plan.role = settings.role;
    plan.environment = settings.environment;
    plan.working_directory = settings.working_directory;
    plan.wraps = settings.wraps;
    plan.standard_input = settings.standard_input;
    plan.logs = settings.logs;
    plan.binding = settings.binding;
    plan.virtual_local_rank = settings.virtual_local_rank;
    plan.report_file = settings.report_file;
    plan.event_log = settings.event_log;
    plan.agent_error_file = surroundings.set_variable("TORCHELASTIC_ERROR_FILE").value_or("");
    plan.verbosity = (settings.verbose ? 1 : 0) - (settings.quiet ? 1 : 0);
    return plan;
}

}  // namespace dlaunch::launcher
