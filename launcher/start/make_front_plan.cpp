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
#include "launcher/plan_ranks.hpp"
#include "launcher/start/front_mpi.hpp"
#include "launcher/start/front_token.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// Options that the front end itself carries out, beside those of Group::hosts.
constexpr std::array<std::string_view, 17> kOfFrontEnd{
    "nnodes",    "nproc-per-node", "rdzv-backend", "rdzv-endpoint", "rdzv-id",   "standalone",
    "node-rank", "master-addr",    "local-addr",   "report",        "event-log", "dry-run",
    "config",    "verbose",        "requeue",      "token-file",    "no-token"};

/// Options that have a meaning only where several hosts are listed.
constexpr std::array<std::string_view, 4> kOfHosts{"include", "exclude", "num-nodes", "num-gpus"};

Result<std::vector<HostEntry>> hosts_from_file(const std::string& path, const Deps& deps, const std::string& spelling,
                                               decltype(&parse_hostfile) parse) {
    auto text = deps.read_file(path);
    if (!text)
        return Error{fmt::format("{}: cannot be read ({}), expected a file with a host on each line", spelling,
                                 text.error().text)};
    return parse(*text, path);
}

constexpr std::array kNodeLists{"SLURM_JOB_NODELIST", "SLURM_NODELIST"};

bool is_in_allocation(const Deps& deps) {
    return std::ranges::any_of(kNodeLists, [&](const char* name) { return deps.host.is_set(name); });
}

/// The nodes of SLURM's allocation.
Result<std::vector<HostEntry>> allocated_hosts(const Deps& deps) {
    for (const char* name : kNodeLists)
        if (const auto list = deps.host.set_variable(name)) return parse_host_list(*list);
    return Error{"--launcher=srun: no allocation (SLURM_JOB_NODELIST is not set), expected salloc, sbatch or --hosts"};
}

/// Whether an option is on the command line, in contrast to variables and files, which may hold for many jobs.
bool is_typed(const Settings& settings, std::string_view option) {
    return settings.has(option) && settings.spelling(option).starts_with("--");
}

/// An option that needs hosts was given, and none are known.
Error no_hosts(const Settings& settings) {
    std::string spelling = settings.spelling("launcher");
    for (const std::string_view option : kOfHosts)
        if (settings.has(option)) spelling = settings.spelling(option);
    return {fmt::format("{}: no hosts, expected --hosts, --hostfile, WCOLL or an allocation of SLURM{}", spelling,
                        settings.has("num-gpus") ? "; --nproc-per-node is for this host alone" : "")};
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
    if (const auto file = deps.host.set_variable("WCOLL"); file && is_typed(settings, "launcher"))
        return hosts_from_file(*file, deps, "WCOLL=" + *file, parse_wcoll);
    if (options.starter == Starter::srun || (is_typed(settings, "launcher") && is_in_allocation(deps)))
        return allocated_hosts(deps);
    return no_hosts(settings);
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

Selection selection_of(const HostOptions& options) {
    return {options.include, options.exclude, options.num_nodes, options.num_gpus};
}

OptionSpelling spelling_of(const Settings& settings) {
    return [&settings](std::string_view option) { return settings.spelling(option); };
}

/// A later context has hosts of its own only if its part of the command line names them: variables name the job's.
bool has_own_hosts(const ContextRequest& context) {
    return !context.settings.hosts.hosts.empty() && context.settings.spelling("hosts").starts_with("--");
}

Result<Placement> placement_of(const std::vector<ContextRequest>& contexts, const Deps& deps) {
    const Settings& job = contexts.front().settings;
    auto listed = listed_hosts(job, deps);
    if (!listed) return listed.error();
    auto selected = select_hosts(*listed, selection_of(job.hosts), spelling_of(job));
    if (!selected) return selected.error();
    PlacementRequest request{std::move(*selected), std::nullopt, {}};
    if (job.has("nnodes")) request.nodes = {job.plan.rendezvous.min_nodes, job.plan.rendezvous.max_nodes};
    for (const ContextRequest& context : contexts) {
        WorkerWish wish = wish_of(context.settings);
        if (&context != &contexts.front() && has_own_hosts(context)) {  // the first one's are the job's
            auto own =
                select_hosts(context.settings.hosts.hosts, selection_of(job.hosts), spelling_of(context.settings));
            if (!own) return own.error();
            wish.hosts = std::move(*own);
        }
        request.contexts.push_back(std::move(wish));
    }
    return place(request, spelling_of(job));
}

/// A node may run only one of several contexts, so each context carries its place and its role.
JobWords::Context context_words(const ContextRequest& context, std::size_t place, bool several) {
    JobWords::Context words;
    words.program = context.program;
    for (const OptionUse& use : context.uses)
        if (use.option->key() == "nproc-per-node") words.count = use.value;
    if (several) words.options.push_back(fmt::format("--appnum={}", place));
    const auto own = words_for_nodes(context.uses, true);
    words.options.insert(words.options.end(), own.begin(), own.end());
    return words;
}

JobWords job_words(const std::vector<ContextRequest>& contexts, const agent::RendezvousPlan& rendezvous,
                   agent::MpiFamily mpi) {
    const Settings& job = contexts.front().settings;
    JobWords words{job.called,
                   {fmt::format("--nnodes={}:{}", rendezvous.min_nodes, rendezvous.max_nodes), "--rdzv-backend=c10d",
                    "--rdzv-id=" + rendezvous.job_id},
                   {}};
    if (job.verbose) words.options.emplace_back("--verbose");
    auto uses = contexts.front().uses;
    if (job.hosts.collect_logs)  // each node chooses a folder of its own
        std::erase_if(uses, [](const OptionUse& use) { return use.option->key() == "log-dir"; });
    if (mpi != agent::MpiFamily::none) {
        std::erase_if(uses, [](const OptionUse& use) { return use.option->key() == "mpi"; });
        words.options.push_back(fmt::format("--mpi={}", agent::name(mpi)));
    }
    const auto own = words_for_nodes(uses, false);
    words.options.insert(words.options.end(), own.begin(), own.end());
    for (std::size_t place = 0; place < contexts.size(); ++place)
        words.contexts.push_back(context_words(contexts[place], place, contexts.size() > 1));
    return words;
}

int workers_of(const std::vector<Share>& shares) {
    int workers = 0;
    for (const Share& share : shares) workers += share.workers;
    return workers;
}

/// The coordinator's plan: the job's sizes and times. Its workers are those that the front end has placed, or one:
/// nodes count their cores and devices themselves.
Result<agent::Plan> coordinators_plan(ContextRequest context, const Deps& deps, const Placement& placement) {
    Settings& settings = context.settings;
    settings.plan.rendezvous.min_nodes = placement.nodes.min;
    settings.plan.rendezvous.max_nodes = placement.nodes.max;
    settings.plan.rendezvous.backend = agent::Backend::c10d;
    settings.etcd_backend = false;
    settings.plan.rendezvous.node_rank.reset();
    settings.standalone = false;
    settings.plan.virtual_local_rank = false;  // the nodes compare their workers with their own devices
    settings.endpoint = "127.0.0.1:1";         // the ports are chosen at the start
    int workers = 0;
    for (const PlacedHost& host : placement.hosts) workers += workers_of(host.shares);
    settings.workers = {WorkerCount::Kind::number, std::max(1, workers)};
    if (const auto slurm = deps.host.set_variable("SLURM_JOB_ID"); slurm && !settings.job_id)
        settings.job_id = *slurm + "-" + deps.fresh_id();  // a batch script may start several
    if (!settings.job_id) settings.job_id = deps.fresh_id();
    std::vector<std::string> known;                                      // warnings, which the nodes have, too
    const auto input = std::exchange(settings.plan.standard_input, {});  // see check_ranks()
    auto plan = make_plan({std::move(context)}, deps, known);
    if (!plan) return plan.error();
    plan->standard_input = input;
    plan->rendezvous.expected_hosts.clear();
    return plan;
}

/// Where the number of workers is known: not in an elastic job, nor where a node counts its cores or devices.
Result<void> check_ranks(const std::vector<ContextRequest>& contexts, const Placement& placement,
                         std::vector<std::string>& warnings) {
    if (placement.hosts.empty() || placement.nodes.min != placement.nodes.max) return {};
    std::vector<agent::Context> all(contexts.size());
    for (std::size_t place = 0; place < all.size(); ++place) {
        all[place].program.wraps = contexts[place].settings.program.wraps;
        all[place].workers = 0;
    }
    for (const PlacedHost& host : placement.hosts)
        for (const Share& share : host.shares) {
            if (share.workers == 0) return {};
            all[share.context].workers += share.workers;
        }
    if (placement.nodes.max > 1)
        check_wraps(contexts.front().settings.plan.standard_input, all, warnings);  // a lone node warns by itself
    return check_stdin(contexts.front().settings, all);
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

/// The current folder. If it was removed, programs that all have an absolute folder of their own do without; else none.
std::optional<std::string> folder_on_nodes(const std::vector<ContextRequest>& contexts, const Deps& deps) {
    std::string folder = deps.current_folder();
    if (!folder.empty()) return folder;
    const auto has_own = [](const ContextRequest& context) {
        return context.settings.program.working_directory.starts_with('/');
    };
    return std::ranges::all_of(contexts, has_own) ? std::optional("/") : std::nullopt;
}

}  // namespace

FrontNode front_node(const JobWords& given, StarterHost host, const std::vector<Share>& shares,
                     const FrontSlots& slots) {
    FrontNode node{std::move(host), {given.called}, workers_of(shares)};
    auto& words = node.words;
    words.insert(words.end(), given.options.begin(), given.options.end());
    if (!slots.chosen.empty()) words.push_back(fmt::format("--devices={}", fmt::join(slots.chosen, ",")));
    if (slots.number && std::ranges::find(shares, 0, &Share::workers) != shares.end())
        words.push_back(fmt::format("--slots={}", *slots.number));
    for (const Share& share : shares) {
        const JobWords::Context& context = given.contexts[share.context];
        if (&share != &shares.front()) words.emplace_back(":");
        words.push_back("--nproc-per-node=" + (share.workers > 0 ? std::to_string(share.workers) : context.count));
        words.insert(words.end(), context.options.begin(), context.options.end());
        words.emplace_back("--");
        words.insert(words.end(), context.program.begin(), context.program.end());
    }
    return node;
}

bool starts_nodes(const std::vector<ContextRequest>& contexts) {
    const Settings& job = contexts.front().settings;
    return !job.hosts.hosts.empty() || !job.hosts.hostfile.empty() || is_typed(job, "launcher") ||
           !job.hosts.host_discovery_script.empty() ||
           std::ranges::any_of(kOfHosts, [&](std::string_view option) { return job.has(option); }) ||
           std::ranges::any_of(contexts, has_own_hosts);
}

std::vector<std::string> words_for_nodes(const std::vector<OptionUse>& uses, bool of_context) {
    std::vector<std::string> words;
    for (const OptionUse& use : uses) {
        const Option& option = *use.option;
        const bool stays = std::ranges::find(kOfFrontEnd, option.key()) != kOfFrontEnd.end();
        if (option.group == Group::hosts || stays || option.of_context != of_context) continue;
        words.push_back(fmt::format("--{}={}", option.name, use.value));
    }
    return words;
}

Result<FrontPlan> make_front_plan(const std::vector<ContextRequest>& contexts, const Deps& deps,
                                  std::vector<std::string>& warnings) {
    const Settings& settings = contexts.front().settings;
    if (settings.standalone) return Error{settings.spelling("standalone") + ": expected no hosts beside it"};
    if (settings.hosts.collect_logs && settings.plan.logs.directory.empty())
        return Error{settings.spelling("collect-logs") + ": expected --log-dir, the folder for the files"};
    if (settings.hosts.copy && settings.hosts.starter != Starter::ssh && settings.hosts.starter != Starter::fork)
        return Error{settings.spelling("copy") + ": expected ssh as --launcher, which passes the program on"};
    const bool discovers = !settings.hosts.host_discovery_script.empty();
    if (discovers && contexts.size() > 1)
        return Error{settings.spelling("host-discovery-script") + ": expected one program with it"};
    const auto placement = discovers ? placement_to_come(settings) : placement_of(contexts, deps);
    if (!placement) return placement.error();
    auto job = coordinators_plan(contexts.front(), deps, *placement);
    if (!job) return job.error();
    auto token = front_token(settings, deps, job->rendezvous, warnings);
    if (!token) return token.error();
    if (auto done = check_ranks(contexts, *placement, warnings); !done) return done.error();
    const auto mpi = front_mpi(contexts, deps, *job);
    if (!mpi) return mpi.error();
    FrontPlan plan;
    plan.job = std::move(*job);
    // A token that only the front end chose leaves group rank 0's own address in MASTER_ADDR, as in an open job.
    const bool opens_store =
        token->token && !token->is_of_user && plan.job.rendezvous.store == agent::StorePath::automatic;
    if (opens_store) plan.job.rendezvous.store = agent::StorePath::open;
    plan.job.rendezvous.token = std::move(token->token);
    plan.token_file = std::move(token->file);
    for (agent::Context& context : plan.job.contexts) context.program.mpi = *mpi;
    plan.words = job_words(contexts, plan.job.rendezvous, *mpi);
    if (opens_store) plan.words.options.emplace_back("--store=open");
    for (const auto* hosts : {&placement->hosts, &placement->spares})
        for (const PlacedHost& host : *hosts)
            plan.nodes.push_back(front_node(plan.words, {host.host.name, host.host.user}, host.shares,
                                            {host.host.slots, host.host.slot_ids}));
    plan.discovery_script = settings.hosts.host_discovery_script;
    if (const WorkerWish wish = wish_of(settings); wish.kind == WorkerWish::Kind::per_host)
        plan.workers_per_host = static_cast<int>(wish.number);
    plan.launcher = settings.hosts.starter;
    plan.launcher_args = settings.hosts.launcher_args;
    plan.launch_timeout = settings.hosts.launch_timeout;
    plan.remote_program = settings.hosts.remote_dlaunch;
    plan.copies = settings.hosts.copy;
    plan.collects_logs = settings.hosts.collect_logs;
    plan.sent = exported(settings.hosts.exported, deps.host.environment);
    auto folder = folder_on_nodes(contexts, deps);
    if (!folder)
        return Error{"the current directory was removed; change to another, or give --chdir an absolute path",
                     exit_status::kCannotExecute};
    plan.folder = std::move(*folder);
    return plan;
}

}  // namespace dlaunch::launcher
