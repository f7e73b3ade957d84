#include "launcher/command_line.hpp"

#include <fmt/format.h>

#include "launcher/cli/completion.hpp"
#include "launcher/cli/contexts.hpp"
#include "launcher/cli/help.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/cli/sources.hpp"
#include "launcher/cli/suggest.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/dry_run.hpp"
#include "launcher/kubernetes.hpp"
#include "launcher/plan.hpp"
#include "launcher/program_files.hpp"
#include "launcher/slurm/cpu_masks.hpp"
#include "launcher/slurm/defaults.hpp"
#include "launcher/start/make_front_plan.hpp"
#include "launcher/without_effect.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

Result<Invocation> print(std::string text) {
    Invocation invocation;
    invocation.kind = Invocation::Kind::print;
    invocation.output = std::move(text);
    return invocation;
}

Result<Invocation> print_completion(const OptionUse& use) {
    auto shell = parse_choice(use.value, use.option->choices());
    if (!shell) return shell.error().within(use.spelling);
    return print(completion_script(*shell));
}

/// The first option that prints a text and exits, as in argparse; null: none.
const OptionUse* text_option(const std::vector<Normalized>& contexts) {
    for (const Normalized& context : contexts)
        for (const OptionUse& use : context.options)
            if (use.option->is_text()) return &use;
    return nullptr;
}

/// Reads the file of --config, from the strongest source that has the option.
Result<void> read_file_of(Sources& sources, const Deps& deps) {
    const OptionUse* config = nullptr;
    for (const auto* source : {&sources.own_variables, &sources.command_line})  // later ones take precedence
        for (const OptionUse& use : *source)
            if (use.option->name == "config") config = &use;
    if (!config) return {};
    auto text = deps.read_file(config->value);
    if (!text)
        return Error{fmt::format("{}: cannot be read ({}), expected a file of key = value lines", config->spelling,
                                 text.error().text)};
    auto uses = read_config(config->value, *text);
    if (!uses) return uses.error();
    sources.file = std::move(*uses);
    return {};
}

/// Whether to run the program with Python as torchrun does: called as torchrun, with a file that cannot be executed.
bool is_torchruns_script(const std::string& called, const ContextRequest& context, const Deps& deps) {
    return is_called_torchrun(called) && !context.settings.no_python && !context.settings.module &&
           !context.program.empty() && deps.is_no_program(context.program[0]);
}

/// Reads the options of each context. Variables and the file give the defaults of every context; options of the job
/// count in the first one. A front end has resolved all of these: its command line for a node is complete.
Result<std::vector<ContextRequest>> read_contexts(std::vector<Normalized>&& lines, const Deps& deps) {
    std::vector<ContextRequest> contexts;
    Sources sources;
    sources.command_line = std::move(lines.front().options);
    if (!deps.node) {
        read_variables(deps.host.environment, sources);
        if (auto done = read_file_of(sources, deps); !done) return done.error();
    }
    for (Normalized& line : lines) {
        if (!contexts.empty()) sources.command_line = std::move(line.options);
        auto uses = strongest(sources);
        auto settings = parse(uses);
        if (!settings) return settings.error();
        contexts.push_back({std::move(*settings), std::move(line.program), std::move(uses)});
        if (contexts.size() == 1) keep_options_of_contexts(sources);
    }
    return contexts;
}

/// Sets what a scheduler knows and the user has not given.
Result<void> ask_schedulers(const agent::Host& host, Settings& settings) {
    auto step = step_of_job(host, settings);
    if (!step) return step.error();
    if (*step)
        if (auto applied = apply_step(**step, settings); !applied) return applied.error();
    apply_completion_index(host, settings);
    if (auto hint = unused_nodes(host, settings)) settings.warnings.push_back(std::move(*hint));
    return {};
}

/// With the cores of all tasks on this node, if this process is the agent for several. None: deps stay as they are.
std::optional<Deps> for_all_tasks(const Deps& deps, const agent::TaskPlan& tasks) {
    if (tasks.count == 1 || tasks.index > 0) return std::nullopt;
    const std::vector<int> cores = cores_of_tasks(deps.host, tasks.count);
    if (cores.empty()) return std::nullopt;
    Deps widened = deps;
    widened.host.usable_cores = deps.use_cores(cores);
    return widened;
}

Result<Invocation> plan_nodes(const std::vector<ContextRequest>& contexts, const Deps& deps) {
    const Settings& settings = contexts.front().settings;
    Invocation invocation;
    invocation.warnings = settings.warnings;
    auto front = make_front_plan(contexts, deps, invocation.warnings);
    if (!front) return front.error();
    invocation.kind = settings.dry_run ? Invocation::Kind::print : Invocation::Kind::start_nodes;
    if (settings.dry_run) invocation.output = front_dry_run(*front);
    warn_without_effect(settings, front->job, deps, true, invocation.warnings);
    if (auto unused = unused_components(deps.host, settings)) invocation.warnings.push_back(std::move(*unused));
    invocation.front = std::move(*front);
    return invocation;
}

Result<Invocation> plan_it(const std::string& called, std::vector<Normalized>&& lines, const Deps& deps) {
    auto contexts = read_contexts(std::move(lines), deps);
    if (!contexts) return contexts.error();
    ContextRequest& first = contexts->front();
    first.settings.called = called;
    if (is_torchruns_script(called, first, deps)) first.settings.run_path = true;
    if (!deps.node) apply_requeue(deps.host, first.settings);
    if (!deps.node && starts_nodes(*contexts)) return plan_nodes(*contexts, deps);
    if (auto done = deps.node ? Result<void>() : ask_schedulers(deps.host, first.settings); !done) return done.error();
    Invocation invocation;
    invocation.warnings = first.settings.warnings;
    const auto widened = for_all_tasks(deps, first.settings.plan.tasks);
    const Deps& here = widened ? *widened : deps;
    auto plan = make_plan(*contexts, here, invocation.warnings);
    if (!plan) return plan.error();
    invocation.plan = std::move(*plan);
    if (!deps.node) warn_without_effect(first.settings, invocation.plan, deps, false, invocation.warnings);
    const bool is_lone = invocation.plan.workers() == 1 && invocation.plan.rendezvous.max_nodes == 1;
    // Of a lone worker Python itself reports a missing script, as under torchrun.
    if (auto there = check_programs(invocation.plan, here, !is_lone || first.settings.dry_run); !there) {
        if (!first.settings.dry_run) return there.error();
        invocation.status = there.error().status;
        invocation.warnings.push_back(there.error().text);
    }
    if (auto narrow = narrow_affinity(here.host, invocation.plan.workers()))
        invocation.warnings.push_back(std::move(*narrow));
    if (auto bound = bound_gpus(deps.host, first.settings.plan.tasks)) invocation.warnings.push_back(std::move(*bound));
    if (invocation.plan.tasks.index > 0) invocation.warnings.clear();  // the agent's task prints them
    agent::Program& program = invocation.plan.contexts.front().program;
    if (!program.is_python) program.not_found_hint = command_suggestion(first.program[0]);
    if (!first.settings.dry_run) return invocation;
    auto text = dry_run(invocation.plan, here);
    if (!text) return text.error();
    invocation.kind = Invocation::Kind::print;
    if (invocation.plan.tasks.index == 0) invocation.output = std::move(*text);
    return invocation;
}

/// Under the name torchrun a `:` is an argument like any other.
Result<std::vector<Normalized>> read_words(const std::string& called, const std::vector<std::string>& words) {
    if (!is_called_torchrun(called)) return normalize_contexts(words);
    auto line = normalize(words);
    if (!line) return line.error();
    return std::vector<Normalized>{std::move(*line)};
}

Result<Invocation> print_text(const OptionUse& text) {
    if (text.option->name == "print-completion") return print_completion(text);
    return print(text.option->name == "help" ? help_text() : version_text());
}

Result<Invocation> dispatch(const std::string& called, const std::vector<std::string>& words, const Deps& deps) {
    if (!words.empty() && words[0] == "version" && !is_called_torchrun(called)) return print(version_text());
    auto contexts = read_words(called, words);
    if (!contexts) return contexts.error();
    if (const OptionUse* text = text_option(*contexts)) return print_text(*text);
    if (auto fine = check_contexts(*contexts); !fine) return fine.error();
    return plan_it(called, std::move(*contexts), deps);
}

}  // namespace

bool is_called_torchrun(std::string_view called) { return called.substr(called.rfind('/') + 1) == "torchrun"; }

Result<Invocation> read_command_line(const std::vector<std::string>& argv, const Deps& deps) {
    std::vector<std::string> words(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
    auto invocation = dispatch(argv.empty() ? "" : argv[0], words, deps);
    if (!invocation) return Error{one_line(invocation.error().text), invocation.error().status};
    const bool starts_nodes = invocation->kind == Invocation::Kind::start_nodes;
    (starts_nodes ? invocation->front.job : invocation->plan).command_line = argv;
    return invocation;
}

}  // namespace dlaunch::launcher
