#include "launcher/cli/setters.hpp"

#include <algorithm>

#include "launcher/cli/signals.hpp"
#include "launcher/cli/words.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using Done = base::Result<void>;

void warn(const OptionUse& use, const std::vector<std::string>& warnings, Settings& to) {
    for (const std::string& warning : warnings) to.warnings.push_back(use.spelling + ": " + warning);
}

base::Result<std::string> choice_of(const OptionUse& use) { return parse_choice(use.value, use.option->choices()); }

}  // namespace

Done set_nodes(const OptionUse& use, Settings& to) {
    auto nodes = parse_nnodes(use.value);
    if (!nodes) return nodes.error();
    to.plan.rendezvous.min_nodes = nodes->min;
    to.plan.rendezvous.max_nodes = nodes->max;
    return {};
}

/// The last value of a name replaces earlier ones, because execve(2) would pass all of them.
Done add_variable(const OptionUse& use, Settings& to) {
    auto variable = parse_assignment(use.value);
    if (!variable) return variable.error();
    agent::Variables& variables = to.plan.program.environment;
    const auto known = std::ranges::find(variables, variable->first, &agent::Variables::value_type::first);
    if (known == variables.end())
        variables.push_back(std::move(*variable));
    else
        known->second = std::move(variable->second);
    return {};
}

Done add_wrap(const OptionUse& use, Settings& to) {
    auto wrap = parse_wrap(use.value);
    if (!wrap) return wrap.error();
    to.plan.program.wraps.push_back(std::move(*wrap));
    return {};
}

Done set_start_method(const OptionUse& use, Settings& to) {
    auto choice = choice_of(use);
    if (!choice) return choice.error();
    to.plan.forks = *choice == "fork";
    return {};
}

Done set_endpoint(const OptionUse& use, Settings& to) {
    to.endpoint = use.value;
    return use.value.empty() ? Done() : only_check(rendezvous::parse_endpoints(use.value, 0));
}

Done set_rdzv_conf(const OptionUse& use, Settings& to) {
    auto conf = parse_rdzv_conf(use.value);
    if (!conf) return conf.error();
    warn(use, conf->warnings, to);
    to.rdzv_conf = std::move(*conf);
    return {};
}

Done set_scale_up(const OptionUse& use, Settings& to) {
    auto choice = choice_of(use);
    if (!choice) return choice.error();
    to.plan.rendezvous.scale_up = *choice == "immediate" ? agent::ScaleUp::immediate
                                  : *choice == "never"   ? agent::ScaleUp::never
                                                         : agent::ScaleUp::on_restart;
    return {};
}

Done set_node_timeout(const OptionUse& use, Settings& to) {
    auto seconds = parse_seconds(use.value);
    if (!seconds || seconds->count() == 0) return Error{"expected a number of seconds above 0"};
    to.node_timeout = *seconds;
    return {};
}

Done set_backoff(const OptionUse& use, Settings& to) {
    auto backoff = parse_backoff(use.value);
    if (!backoff) return backoff.error();
    to.plan.restarts.first = backoff->first;
    to.plan.restarts.most = backoff->most;
    return {};
}

Done set_cooldown(const OptionUse& use, Settings& to) {
    auto cooldown = parse_backoff(use.value, agent::RestartPlan{}.cooldown_most);
    if (!cooldown) return cooldown.error();
    to.plan.restarts.cooldown_first = cooldown->first;
    to.plan.restarts.cooldown_most = cooldown->most;
    return {};
}

Done set_signals(const OptionUse& use, Settings& to) {
    auto list = parse_signal_list(use.value);
    if (!list) return list.error();
    to.plan.handled_signals = std::move(list->numbers);
    to.plan.handled_signals_text = use.value;
    warn(use, list->warnings, to);
    return {};
}

/// An empty list of ranks means all, as for torchrun.
Done set_shown_ranks(const OptionUse& use, Settings& to) {
    if (!use.value.empty()) return store(to.plan.logs.shown, parse_ranks(use.value));
    to.plan.logs.shown.reset();
    return {};
}

Done set_prefix(const OptionUse& use, Settings& to) {
    to.plan.logs.prefix_template = use.value.empty() ? agent::LogPlan{}.prefix_template : use.value;
    return {};
}

Done set_rotation(const OptionUse& use, Settings& to) {
    auto rotation = parse_rotation(use.value);
    if (!rotation) return rotation.error();
    to.plan.logs.rotate_bytes = rotation->bytes;
    to.plan.logs.rotate_keep = rotation->keep;
    return {};
}

Done check_seconds(const OptionUse& use, Settings&) { return only_check(parse_seconds(use.value)); }

Done check_choice(const OptionUse& use, Settings&) { return only_check(choice_of(use)); }

Done refuse_logs_specs(const OptionUse&, Settings&) {
    return Error{"expected --log-dir, -r and -t instead: torchrun's Python plug-ins cannot be loaded"};
}

}  // namespace dlaunch::launcher
