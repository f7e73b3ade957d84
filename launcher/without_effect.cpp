#include "launcher/without_effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/suggest.hpp"

namespace dlaunch::launcher {
namespace {

/// The facts on which options depend.
struct Facts {
    const agent::Plan& plan;
    const Settings& settings;
    const Deps& deps;
    bool starts_hosts;

    [[nodiscard]] bool has_several_workers() const {
        return plan.workers() > 1 || plan.rendezvous.max_nodes > 1 || starts_hosts;
    }
    [[nodiscard]] bool has_view() const {
        return plan.logs.live && has_several_workers() && deps.console_is_terminal();
    }
    [[nodiscard]] bool has_prefixes() const {
        const auto& by_rank = plan.logs.tee.by_rank;
        return plan.logs.fold || plan.logs.prefixed || plan.logs.tee.others != 0 ||
               std::ranges::any_of(by_rank, [](const auto& choice) { return choice.second != 0; }) || has_view();
    }
    [[nodiscard]] bool has_console() const {
        for (int local_rank = 0; local_rank < plan.workers(); ++local_rank)
            for (const agent::Stream stream : {agent::kStdout, agent::kStderr})
                if (plan.logs.is_on_console(local_rank, stream)) return true;
        return false;
    }
};

bool is_in(std::string_view option, std::initializer_list<std::string_view> options) {
    return std::ranges::find(options, option) != options.end();
}

/// What an option needs, if the plan lacks it; else empty.
std::string_view missing_for(std::string_view option, const Facts& facts) {
    const agent::Plan& plan = facts.plan;
    const bool has_runs = !plan.logs.directory.empty() && plan.logs.directory != "/dev/null";
    if ((option == "rotate" || (option == "keep-runs" && !has_runs)) && !plan.logs.keeps_files())
        return "log files: add -r 3 or -t 3";
    if (option == "log-line-prefix-template" && !facts.has_prefixes())
        return "prefixed output: add --prefix, -t 3 or --fold";
    if (is_in(option, {"log-line-prefix-template", "prefix", "fold", "timestamps"}) && !facts.has_console())
        return "output on the console: use -t in place of -r";
    if (is_in(option, {"fold", "ui"}) && (option == "fold" || facts.settings.ui == "live")) {
        if (!facts.has_several_workers()) return "several workers: add --nproc-per-node";
        if (option == "ui" && !facts.deps.console_is_terminal()) return "a terminal for standard output and error";
    }
    const bool is_elastic = plan.rendezvous.max_nodes > plan.rendezvous.min_nodes;
    const bool restarts = plan.restarts.max_restarts > 0 || is_elastic;
    if (is_in(option, {"restart-backoff", "crash-loop"}) && !restarts) return "restarts: add --max-restarts";
    if (option == "scale-up" && !is_elastic) return "a range of nodes: add --nnodes=MIN:MAX";
    const bool is_lone = plan.rendezvous.max_nodes == 1;
    if ((option == "node-cooldown" && is_lone) ||
        (is_in(option, {"node-timeout", "store"}) && is_lone && !facts.starts_hosts))
        return "several nodes: add --nnodes";
    if (is_in(option, {"launcher-args", "launch-timeout", "remote-dlaunch", "copy", "collect-logs", "export"}) &&
        !facts.starts_hosts)
        return "hosts: add --hosts or --hostfile";
    if (option == "collect-logs" && !plan.logs.keeps_files()) return "log files: add -r 3 or -t 3";
    return {};
}

/// What an option cannot change in a job whose hosts dlaunch starts; else empty.
std::string_view decided_by_front_end(std::string_view option, const Facts& facts) {
    if (!facts.starts_hosts) return {};
    if (option == "node-rank") return "the hosts are numbered in the order of their list";
    if (is_in(option, {"rdzv-backend", "rdzv-endpoint", "master-addr"})) return "the front end hosts the rendezvous";
    if (is_in(option, {"remote-dlaunch", "copy", "launcher-args"}) && facts.settings.hosts.starter == Starter::fork)
        return "--launcher=fork runs this program";
    if (option == "remote-dlaunch" && facts.settings.hosts.copy) return "--copy sends this program";
    return {};
}

bool chosen_by_standalone(std::string_view option, const Facts& facts) {
    return facts.settings.standalone && !facts.starts_hosts &&
           is_in(option, {"rdzv-endpoint", "rdzv-id", "master-addr", "master-port", "node-rank"});
}

constexpr std::array<std::string_view, 4> kNames{"role_name", "local_rank", "rank", "hostname"};

/// The names in "${name}" that no value replaces; they are printed as they stand.
std::vector<std::string_view> unknown_names(std::string_view prefix) {
    std::vector<std::string_view> unknown;
    for (std::size_t at = prefix.find('$'); at != std::string_view::npos; at = prefix.find('$', at)) {
        const std::string_view rest = prefix.substr(at + 1);
        const std::size_t end = rest.find('}');
        at += rest.starts_with('$') ? 2 : 1;
        if (!rest.starts_with('{') || end == std::string_view::npos) continue;
        const std::string_view name = rest.substr(1, end - 1);
        if (std::ranges::find(kNames, name) == kNames.end()) unknown.push_back(name);
    }
    return unknown;
}

/// No option chooses a worker that reads standard input, and none does.
bool leaves_input(const agent::Plan& plan) {
    const bool is_lone = plan.workers() == 1 && plan.rendezvous.max_nodes == 1;
    const bool is_mpi = plan.contexts.front().program.mpi != agent::MpiFamily::none;
    return plan.standard_input.mode == agent::StdinPlan::Mode::automatic && !is_lone && !is_mpi;
}

}  // namespace

void warn_without_effect(const Settings& settings, const agent::Plan& plan, const Deps& deps, bool starts_hosts,
                         std::vector<std::string>& warnings) {
    const Facts facts{plan, settings, deps, starts_hosts};
    for (const auto& variable : deps.host.environment)
        if (const std::string meant = variable_suggestion(variable.first); !meant.empty())
            warnings.push_back(fmt::format("{} has no effect; did you mean {}?", variable.first, meant));
    if (leaves_input(plan) && deps.has_input())
        warnings.emplace_back(
            "no worker reads standard input: --stdin=0 passes it to rank 0, --stdin=all to all, and "
            "--stdin=none says that this is meant");
    for (const auto& [option, spelling] : settings.spellings) {
        if (!spelling.starts_with('-')) continue;  // a variable, or a line of a file
        if (const std::string_view missing = missing_for(option, facts); !missing.empty())
            warnings.push_back(fmt::format("{} has no effect without {}", spelling, missing));
        if (const std::string_view reason = decided_by_front_end(option, facts); !reason.empty())
            warnings.push_back(fmt::format("{} has no effect with --hosts: {}", spelling, reason));
        if (chosen_by_standalone(option, facts))
            warnings.push_back(spelling + " has no effect with --standalone, which chooses a port and a job id itself");
        if (option == "verbose" && settings.quiet) warnings.push_back(spelling + " and --quiet undo each other");
        if (option != "log-line-prefix-template") continue;
        for (const std::string_view name : unknown_names(plan.logs.prefix_template))
            warnings.push_back(fmt::format("--log-line-prefix-template: no value for ${{{}}}, expected one of {}",
                                           one_line(name), "${role_name}, ${local_rank}, ${rank}, ${hostname}"));
    }
}

}  // namespace dlaunch::launcher
