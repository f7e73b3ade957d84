#include "launcher/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "agent/group/environment.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/job_token.hpp"
#include "launcher/plan_devices.hpp"
#include "launcher/plan_mpi.hpp"
#include "launcher/plan_ranks.hpp"
#include "launcher/plan_rendezvous.hpp"
#include "launcher/slurm/defaults.hpp"
#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// The interpreter that torchrun would use: that of the environment in which dlaunch was called.
std::string python(const Settings& settings, const Deps& deps) {
    if (auto named = deps.host.set_variable("PYTHON_EXEC")) return *named;
    if (auto beside = deps.python_beside(settings.called); !beside.empty()) return beside;
    for (const char* home : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (auto prefix = deps.host.set_variable(home)) return *prefix + "/bin/python";
    return "python3";
}

/// Completes the context's program, whose options are set already. `job` has the options of how programs run.
Result<void> plan_program(const Settings& job, const std::vector<std::string>& words, const Deps& deps,
                          agent::Program& program) {
    if (words.empty())
        return Error{"no program given, expected dlaunch [OPTIONS] PROGRAM [ARGS...]; see dlaunch --help"};
    if (words[0].empty()) return Error{"the program's name is empty, expected dlaunch [OPTIONS] PROGRAM [ARGS...]"};
    bool module = job.module && !job.run_path;
    if (module && job.no_python)
        return Error{fmt::format("{} and {} contradict each other, expected one of them", job.spelling("module"),
                                 job.spelling("no-python"))};
    program.is_python = job.run_path || module || (!job.no_python && words[0].ends_with(".py"));
    if (program.is_python) program.command = {python(job, deps), "-u"};
    if (module) program.command.emplace_back("-m");
    program.name_index = program.command.size();
    program.command.insert(program.command.end(), words.begin(), words.end());
    return {};
}

/// A template runs once for all ranks, so there is one program, and its command must not depend on a rank.
Result<void> check_template(const Settings& settings, const agent::Plan& plan) {
    if (!plan.forks) return {};
    if (plan.contexts.size() > 1)
        return wrong(settings, "start-method", "spawn with several programs, because a node has one template");
    if (!plan.contexts.front().program.wraps.empty()) return wrong(settings, "start-method", "spawn with --wrap");
    agent::Assignment round;
    round.ranks.blocks = {{2, 0, 0, 2}};
    if (agent::worker_command(plan, round, 0) == agent::worker_command(plan, round, 1)) return {};
    return wrong(settings, "start-method",
                 "spawn, because the arguments contain the local rank and all forks share one command line");
}

/// -n: the total number of workers, divided equally among the nodes.
Result<std::int64_t> share_of_total(const Settings& settings, const agent::Plan& plan) {
    const int nodes = plan.rendezvous.max_nodes;
    if (plan.rendezvous.min_nodes != nodes)
        return wrong(settings, "nproc-per-node", "a fixed --nnodes with -n, or --nproc-per-node for an elastic job");
    if (settings.workers.number % nodes != 0)
        return wrong(
            settings, "nproc-per-node",
            fmt::format("a multiple of {}, the number of nodes: every node gets the same number of workers", nodes));
    return settings.workers.number / nodes;
}

Result<std::int64_t> count_workers(const Settings& settings, const agent::Plan& plan, const agent::Context& context,
                                   const Deps& deps) {
    using Kind = WorkerCount::Kind;
    switch (settings.workers.kind) {
        case Kind::cpu: return deps.host.usable_cores;
        case Kind::gpu:
        case Kind::xpu:
        case Kind::hpu:
        case Kind::npu: return count_devices(settings, plan, context, deps);
        case Kind::total: return share_of_total(settings, plan);
        case Kind::automatic: {
            auto found = count_devices(settings, plan, context, deps);
            return found ? *found : deps.host.usable_cores;
        }
        case Kind::number: break;
    }
    return settings.workers.number;
}

/// `earlier`: workers of the node's contexts before this one.
Result<void> plan_workers(const Settings& settings, const agent::Plan& plan, std::int64_t earlier, const Deps& deps,
                          agent::Context& context) {
    auto workers = count_workers(settings, plan, context, deps);
    if (!workers) return workers.error();
    // Small numbers need no look at the kernel's limit.
    constexpr int kAlwaysPossible = 300;
    if (*workers > kAlwaysPossible - earlier && *workers > deps.most_processes() - earlier)
        return wrong(settings, "nproc-per-node",
                     fmt::format("at most {} workers, the limit of processes on this machine (kernel.pid_max)",
                                 deps.most_processes()));
    context.workers = static_cast<int>(*workers);
    return {};
}

Result<int> place_of(const Settings& settings, const std::vector<agent::Context>& earlier) {
    const int next = earlier.empty() ? 0 : earlier.back().appnum + 1;
    const int place = settings.appnum.value_or(next);
    constexpr int kMost = static_cast<int>(rendezvous::kMostContexts) - 1;
    if (place < next || place > kMost)
        return wrong(settings, "appnum", fmt::format("a place from {} to {}", next, kMost));
    return place;
}

/// In a job of several programs each has a role of its own: its file name.
std::string role_of(const agent::Program& program) {
    std::string name = program.name();
    if (program.is_python && name.ends_with(".py")) name.resize(name.size() - 3);
    return name;
}

Result<void> plan_contexts(const std::vector<ContextRequest>& requests, const Deps& deps, agent::Plan& plan) {
    const Settings& job = requests.front().settings;
    const bool several = requests.size() > 1 || job.appnum;
    std::vector<agent::Context> contexts;
    std::int64_t workers = 0;
    for (const ContextRequest& request : requests) {
        agent::Context context;
        context.program = request.settings.program;
        if (auto done = plan_program(job, request.program, deps, context.program); !done) return done.error();
        if (several && !request.settings.has("role")) context.program.role = role_of(context.program);
        if (auto done = plan_workers(request.settings, plan, workers, deps, context); !done) return done.error();
        auto place = place_of(request.settings, contexts);
        if (!place) return place.error();
        context.appnum = *place;
        workers += context.workers;
        contexts.push_back(std::move(context));
    }
    plan.contexts = std::move(contexts);
    const auto is_python = [](const agent::Context& context) { return context.program.is_python; };
    if (std::ranges::all_of(plan.contexts, is_python)) plan.forks = false;  // no effect on scripts, as for torchrun
    return check_template(job, plan);
}

Result<void> check_ranks(const Settings& settings, const agent::Plan& plan, std::vector<std::string>& warnings) {
    const auto& shown = plan.logs.shown;
    if (shown && *shown->begin() >= plan.workers())
        warnings.push_back(fmt::format("{}: no worker here has such a local rank, no output is shown",
                                       settings.spelling("local-ranks-filter")));
    if (plan.rendezvous.max_nodes > 1) return {};  // the world size is not known yet
    if (auto done = check_stdin(settings, plan.contexts); !done) return done.error();
    check_wraps(plan.standard_input, plan.contexts, warnings);
    return {};
}

Result<void> check_files(const Settings& settings, const Deps& deps) {
    const std::pair<std::string_view, const std::string*> files[] = {{"report", &settings.plan.report_file},
                                                                     {"event-log", &settings.plan.event_log}};
    for (const auto& [option, path] : files) {
        const bool is_file = !path->empty() && *path != agent::Plan::kStandardOutput;
        std::string reason = !is_file ? "" : deps.why_not_writable(*path);
        if (!reason.empty()) return wrong(settings, option, fmt::format("a file that can be written: {}", reason));
    }
    return {};
}

/// An absolute path, because workers may start in another folder. `given`: $TMPDIR, or empty.
std::string temporary_folder(const std::string& given) {
    if (given.empty()) return agent::Plan{}.temporary_folder;
    std::error_code unknown;
    const auto absolute = std::filesystem::absolute(given, unknown);
    return unknown ? given : absolute.string();
}

/// The specification of XDG_RUNTIME_DIR ignores relative paths.
std::string absolute_or_none(const std::string& path) { return path.starts_with('/') ? path : std::string(); }

/// A value from outside is the same in all workers, but JAX needs another one in each.
void check_jax(const agent::Plan& plan, std::vector<std::string>& warnings) {
    for (const agent::Context& context : plan.contexts) {
        const auto id = agent::own_variable(plan, context, "JAX_PROCESS_ID");
        if (!id || plan.workers() == 1) continue;
        warnings.push_back(
            fmt::format("JAX_PROCESS_ID={} is the number of several workers; unset it to give each its own", *id));
        return;
    }
}

/// Settings that only variables can change.
void plan_from_environment(agent::Plan& plan) {
    const agent::Host& host = plan.host;
    plan.use_cgroups = host.variable("DLAUNCH_NO_CGROUP") != "1";
    plan.logs.colours = !host.set_variable("NO_COLOR") && host.variable("TERM") != "dumb";
    plan.temporary_folder = temporary_folder(host.variable("TMPDIR").value_or(""));
    plan.runtime_folder = absolute_or_none(host.variable("XDG_RUNTIME_DIR").value_or(""));
    plan.timers.enabled = host.variable("TORCHELASTIC_ENABLE_FILE_TIMER") == "1";
    plan.timers.path = host.variable("TORCHELASTIC_TIMER_FILE").value_or("");
    plan.agent_error_file = host.variable("TORCHELASTIC_ERROR_FILE").value_or("");
}

/// A front end has chosen the node's name and place, hosts the coordinator, and prints the report of the job.
void plan_for_front_end(const StartedNode& node, agent::Plan& plan) {
    plan.has_front_end = true;
    plan.front_notices = node.front_notices;
    plan.temporary_folder = temporary_folder(node.temporary_folder);
    plan.logs.relayed = node.relays_output;
    plan.logs.front_terminals = node.front_terminals;
    plan.host.name = node.name;
    plan.rendezvous.order_key = node.order_key;
    plan.rendezvous.expected_hosts.clear();
    plan.rendezvous.is_host = false;
    if (!node.prints && plan.verbosity == 0) plan.verbosity = -1;
}

}  // namespace

Result<agent::Plan> make_plan(const std::vector<ContextRequest>& contexts, const Deps& deps,
                              std::vector<std::string>& warnings) {
    const Settings& settings = contexts.front().settings;
    agent::Plan plan = settings.plan;
    plan.host = deps.host;
    if (!settings.node_name.empty()) plan.host.name = settings.node_name;
    if (settings.use_env) plan.local_rank_option.clear();
    choose_devices(settings, deps, plan.host);
    if (auto done = plan_contexts(contexts, deps, plan); !done) return done.error();
    if (auto done = check_slots(contexts, plan); !done) return done.error();
    if (plan.virtual_local_rank) plan.vendor = device_vendor(settings, plan, deps);
    name_modules(deps, plan);
    if (auto done = check_devices(settings, plan); !done) return done.error();
    if (auto done = plan_mpi(settings, deps, plan, warnings); !done) return done.error();
    if (auto done = plan_rendezvous(settings, deps, plan.rendezvous); !done) return done.error();
    if (auto done = plan_token(settings, deps, plan); !done) return done.error();
    if (auto done = check_ranks(settings, plan, warnings); !done) return done.error();
    check_jax(plan, warnings);
    if (auto done = check_files(settings, deps); !done) return done.error();
    plan_from_environment(plan);
    const auto term = deps.host.set_variable("TERM");
    plan.logs.live = settings.ui == "live" || (settings.ui == "auto" && term && *term != "dumb");
    plan.verbosity = (settings.verbose ? 1 : 0) - (settings.quiet ? 1 : 0);
    plan.is_quiet = plan.verbosity < 0;
    if (deps.node) plan_for_front_end(*deps.node, plan);
    return plan;
}

}  // namespace dlaunch::launcher
