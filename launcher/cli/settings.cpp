#include "launcher/cli/settings.hpp"

#include <algorithm>
#include <limits>

#include "launcher/cli/endpoint.hpp"
#include "launcher/cli/rdzv_conf.hpp"
#include "launcher/cli/signals.hpp"
#include "launcher/cli/words.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using Done = base::Result<void>;

template <class T, class U>
Done take(T& place, base::Result<U>&& parsed) {
    if (!parsed) return parsed.error();
    place = std::move(*parsed);
    return {};
}

template <class T>
Done append(std::vector<T>& place, base::Result<T>&& parsed) {
    if (!parsed) return parsed.error();
    place.push_back(std::move(*parsed));
    return {};
}

/// Values that only have to be right, because nothing here depends on them.
template <class T>
Done only_check(base::Result<T>&& parsed) {
    return parsed ? Done() : Done(parsed.error());
}

Done take_signals(Settings& settings, const std::string& value, const std::string& spelling) {
    auto list = parse_signal_list(value);
    if (!list) return list.error();
    settings.handled_signals = std::move(list->numbers);
    settings.handled_signals_text = value;
    for (const std::string& warning : list->warnings)
        settings.warnings.emplace_back(spelling).append(": ").append(warning);
    return {};
}

Done take_rdzv_conf(Settings& settings, const Given& given) {
    auto conf = parse_rdzv_conf(given.value);
    if (!conf) return conf.error();
    for (const std::string& warning : conf->warnings)
        settings.warnings.emplace_back(given.spelling).append(": ").append(warning);
    settings.rdzv_conf = std::move(*conf);
    return {};
}

/// Of one name given twice the last value counts: execve(2) would pass both on.
Done take_variable(agent::Variables& variables, const std::string& value) {
    auto variable = parse_assignment(value);
    if (!variable) return variable.error();
    const auto known = std::ranges::find(variables, variable->first, &agent::Variables::value_type::first);
    if (known == variables.end())
        variables.push_back(std::move(*variable));
    else
        known->second = std::move(variable->second);
    return {};
}

Done take_rotation(agent::LogPlan& logs, const std::string& value) {
    auto rotation = parse_rotation(value);
    if (!rotation) return rotation.error();
    logs.rotate_bytes = rotation->bytes;
    logs.rotate_keep = rotation->keep;
    return {};
}

Done take_endpoint(Settings& settings, const std::string& value) {
    settings.endpoint = value;
    return value.empty() ? Done() : only_check(rendezvous::parse_endpoints(value, 0));
}

/// torchrun's empty list of ranks means all.
Done take_filter(agent::LogPlan& logs, const std::string& value) {
    if (!value.empty()) return take(logs.shown, parse_ranks(value));
    logs.shown.reset();
    return {};
}

Done take_template(agent::LogPlan& logs, const std::string& value) {
    logs.prefix_template = value.empty() ? agent::LogPlan{}.prefix_template : value;
    return {};
}

Done take_node_timeout(Settings& settings, const std::string& value) {
    auto seconds = parse_seconds(value);
    if (!seconds || seconds->count() == 0) return Error{"expected a number of seconds above 0"};
    settings.node_timeout = *seconds;
    return {};
}

Done take_scale_up(Settings& settings, const Given& given) {
    auto choice = parse_choice(given.value, given.option->choices());
    if (!choice) return choice.error();
    settings.scale_up = *choice == "immediate" ? agent::ScaleUp::immediate
                        : *choice == "never"   ? agent::ScaleUp::never
                                               : agent::ScaleUp::on_restart;
    return {};
}

Done take_start_method(Settings& settings, const Given& given) {
    auto choice = parse_choice(given.value, given.option->choices());
    if (!choice) return choice.error();
    settings.forks = *choice == "fork";
    return {};
}

Done take_value(const Given& given, Settings& to) {
    const std::string& value = given.value;
    switch (given.option->id) {
        case Id::nnodes: return take(to.nodes, parse_nnodes(value));
        case Id::nproc_per_node: return take(to.workers, parse_nproc(value));
        case Id::role: return take(to.role, parse_text(value, "a name"));

        case Id::module: return take(to.module, parse_switch(value));
        case Id::no_python: return take(to.no_python, parse_switch(value));
        case Id::run_path: return take(to.run_path, parse_switch(value));
        case Id::env: return take_variable(to.environment, value);
        case Id::chdir: return take(to.working_directory, parse_text(value, "a directory"));
        case Id::stdin_of: return take(to.standard_input, parse_stdin(value));
        case Id::wrap: return append(to.wraps, parse_wrap(value));
        case Id::start_method: return take_start_method(to, given);
        case Id::pass_local_rank: return take(to.pass_local_rank, parse_switch(value));
        case Id::virtual_local_rank: return take(to.virtual_local_rank, parse_switch(value));
        case Id::bind: return take(to.binding, parse_binding(value));

        case Id::standalone: return take(to.standalone, parse_switch(value));
        case Id::rdzv_backend: return take(to.backend, parse_backend(value));
        case Id::rdzv_endpoint: return take_endpoint(to, value);
        case Id::rdzv_id: return take(to.job_id, parse_text(value, "a job id"));
        case Id::rdzv_conf: return take_rdzv_conf(to, given);
        case Id::node_rank: return take(to.node_rank, parse_count(value, "a rank"));
        case Id::master_addr: return take(to.master_addr, parse_host(value));
        case Id::master_port: return take(to.master_port, parse_port(value, 1));
        case Id::local_addr: return take(to.local_addr, parse_host(value));
        case Id::scale_up: return take_scale_up(to, given);
        case Id::node_timeout: return take_node_timeout(to, value);

        case Id::max_restarts: return take(to.max_restarts, parse_count(value, "a number of restarts"));
        case Id::restart_backoff: return take(to.backoff, parse_backoff(value));
        case Id::crash_loop: return take(to.crash_loop, parse_count(value, "a number of failures"));
        case Id::timeout: return take(to.timeout, parse_seconds(value));
        case Id::shutdown_timeout: return take(to.grace, parse_seconds(value));
        case Id::stop_signal: return take(to.stop_signal, parse_stop_signal(value));
        case Id::signals_to_handle: return take_signals(to, value, given.spelling);
        case Id::monitor_interval: return only_check(parse_seconds(value));

        case Id::log_dir: return take(to.logs.directory, parse_text(value, "a directory"));
        case Id::redirects: return take(to.logs.redirects, parse_streams(value));
        case Id::tee: return take(to.logs.tee, parse_streams(value));
        case Id::local_ranks_filter: return take_filter(to.logs, value);
        case Id::duplicate_stdout_filters: to.logs.stdout_filters = comma_list(value); return {};
        case Id::duplicate_stderr_filters: to.logs.stderr_filters = comma_list(value); return {};
        case Id::log_line_prefix_template: return take_template(to.logs, value);
        case Id::timestamps: return take(to.logs.timestamps, parse_switch(value));
        case Id::fold: return take(to.logs.fold, parse_switch(value));
        case Id::rotate: return take_rotation(to.logs, value);
        case Id::logs_specs:
            return Error{"expected --log-dir, -r and -t instead: torchrun's Python plug-ins cannot be loaded"};

        case Id::report: return take(to.report_file, parse_text(value, "a file"));
        case Id::event_log: return take(to.event_log, parse_text(value, "a file"));
        case Id::event_log_handler: return only_check(parse_choice(value, given.option->choices()));
        case Id::quiet: return take(to.quiet, parse_switch(value));
        case Id::verbose: return take(to.verbose, parse_switch(value));
        case Id::dry_run: return take(to.dry_run, parse_switch(value));

        case Id::config:
        case Id::help:
        case Id::version:
        case Id::print_completion: return {};  // read before this
    }
    return {};
}

}  // namespace

std::string Settings::spelling(Id id) const {
    if (auto found = spellings.find(id); found != spellings.end()) return found->second;
    auto option = std::ranges::find(all_options(), id, &Option::id);
    return "--" + std::string(option->name);
}

Done apply(const Given& given, Settings& settings) {
    Done done = take_value(given, settings);
    if (!done) return done.error().within(given.spelling);
    settings.spellings[given.option->id] = given.spelling;
    return {};
}

}  // namespace dlaunch::launcher
