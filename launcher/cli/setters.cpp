#include "launcher/cli/setters.hpp"

#include <algorithm>

#include "launcher/cli/endpoint.hpp"
#include "launcher/cli/signals.hpp"
#include "launcher/cli/split.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using Done = base::Result<void>;

void warn(const OptionUse& use, const std::vector<std::string>& warnings, Settings& to) {
    for (const std::string& warning : warnings) to.warnings.push_back(use.spelling + ": " + warning);
}

/// Hands a value to `take`, unless it is an error.
template <class T, class Take>
Done take_over(base::Result<T> value, Take take) {
    if (!value) return value.error();
    take(std::move(*value));
    return {};
}

base::Result<std::string> choice_of(const OptionUse& use) { return parse_choice(use.value, use.option->choices()); }

}  // namespace

Done set_nodes(const OptionUse& use, Settings& to) {
    return take_over(parse_nnodes(use.value), [&](const NodeRange& nodes) {
        to.plan.rendezvous.min_nodes = nodes.min;
        to.plan.rendezvous.max_nodes = nodes.max;
    });
}

/// The last value of a name replaces earlier ones, because execve(2) would pass all of them.
Done add_variable(const OptionUse& use, Settings& to) {
    auto variable = parse_assignment(use.value);
    if (!variable) return variable.error();
    agent::Variables& variables = to.program.environment;
    const auto known = std::ranges::find(variables, variable->first, &agent::Variables::value_type::first);
    if (known == variables.end())
        variables.push_back(std::move(*variable));
    else
        known->second = std::move(variable->second);
    return {};
}

Done add_wrap(const OptionUse& use, Settings& to) {
    return take_over(parse_wrap(use.value), [&](auto wrap) { to.program.wraps.push_back(std::move(wrap)); });
}

Done set_start_method(const OptionUse& use, Settings& to) {
    return take_over(choice_of(use), [&](const std::string& choice) { to.plan.forks = choice == "fork"; });
}

Done set_local_rank_option(const OptionUse& use, Settings& to) {
    if (use.value == "underscore") {
        to.plan.local_rank_option = "--local_rank";
        return {};
    }
    const auto is_on = parse_switch(use.value);
    if (!is_on) return base::Error{"expected 1, 0 or underscore"};
    to.plan.local_rank_option = *is_on ? "--local-rank" : "";
    return {};
}

Done set_mpi(const OptionUse& use, Settings& to) {
    using agent::MpiFamily;
    return take_over(choice_of(use), [&](const std::string& choice) {
        to.mpi.reset();
        if (choice != "auto")
            to.mpi = choice == "pmi1" ? MpiFamily::pmi1 : choice == "pmix" ? MpiFamily::pmix : MpiFamily::none;
    });
}

Done set_endpoint(const OptionUse& use, Settings& to) {
    to.endpoint = use.value;
    return use.value.empty() ? Done() : only_check(rendezvous::parse_endpoints(use.value, 0));
}

Done set_backend(const OptionUse& use, Settings& to) {
    return take_over(parse_backend(use.value), [&](const BackendChoice& choice) {
        to.plan.rendezvous.backend = choice.backend;
        to.etcd_backend = choice.etcd;
    });
}

Done set_rdzv_conf(const OptionUse& use, Settings& to) {
    return take_over(parse_rdzv_conf(use.value), [&](RdzvConf conf) {
        warn(use, conf.warnings, to);
        to.rdzv_conf = std::move(conf);
    });
}

Done set_scale_up(const OptionUse& use, Settings& to) {
    return take_over(choice_of(use), [&](const std::string& choice) {
        to.plan.rendezvous.scale_up = choice == "immediate" ? agent::ScaleUp::immediate
                                      : choice == "never"   ? agent::ScaleUp::never
                                                            : agent::ScaleUp::on_restart;
    });
}

Done set_store(const OptionUse& use, Settings& to) {
    return take_over(choice_of(use), [&](const std::string& choice) {
        to.plan.rendezvous.store = choice == "relay" ? agent::StorePath::relay : agent::StorePath::open;
    });
}

Done set_backoff(const OptionUse& use, Settings& to) {
    return take_over(parse_backoff(use.value), [&](const Backoff& backoff) {
        to.plan.restarts.first = backoff.first;
        to.plan.restarts.most = backoff.most;
    });
}

Done set_cooldown(const OptionUse& use, Settings& to) {
    return take_over(parse_backoff(use.value, agent::RestartPlan{}.cooldown_most), [&](const Backoff& cooldown) {
        to.plan.restarts.cooldown_first = cooldown.first;
        to.plan.restarts.cooldown_most = cooldown.most;
    });
}

Done set_signals(const OptionUse& use, Settings& to) {
    return take_over(parse_signal_list(use.value), [&](SignalList list) {
        to.plan.handled_signals = std::move(list.numbers);
        to.plan.handled_signals_text = use.value;
        warn(use, list.warnings, to);
    });
}

/// An empty list of ranks means all, as for torchrun.
Done set_shown_ranks(const OptionUse& use, Settings& to) {
    if (!use.value.empty()) return store(to.plan.logs.shown, parse_ranks(use.value));
    to.plan.logs.shown.reset();
    return {};
}

Done set_prefix(const OptionUse& use, Settings& to) {
    to.plan.logs.prefix_template = use.value.empty() ? agent::LogPlan{}.prefix_template : use.value;
    to.plan.logs.short_template = use.value.empty() ? agent::LogPlan{}.short_template : use.value;
    return {};
}

Done set_ui(const OptionUse& use, Settings& to) {
    return take_over(parse_choice(use.value, use.option->choices()), [&](const std::string& view) { to.ui = view; });
}

Done set_rotation(const OptionUse& use, Settings& to) {
    return take_over(parse_rotation(use.value), [&](const Rotation& rotation) {
        to.plan.logs.rotate_bytes = rotation.bytes;
        to.plan.logs.rotate_keep = rotation.keep;
    });
}

Done check_seconds(const OptionUse& use, Settings&) { return only_check(parse_seconds(use.value)); }

Done check_choice(const OptionUse& use, Settings&) { return only_check(choice_of(use)); }

Done refuse_logs_specs(const OptionUse&, Settings&) {
    return Error{"expected --log-dir, -r and -t instead: torchrun's Python plug-ins cannot be loaded"};
}

}  // namespace dlaunch::launcher
