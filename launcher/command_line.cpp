#include "launcher/command_line.hpp"

#include <fmt/format.h>

#include "launcher/cli/completion.hpp"
#include "launcher/cli/help.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/parse.hpp"
#include "launcher/cli/sources.hpp"
#include "launcher/cli/suggest.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/dry_run.hpp"
#include "launcher/plan.hpp"
#include "launcher/start/make_front_plan.hpp"

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
const OptionUse* text_option(const std::vector<OptionUse>& uses) {
    for (const OptionUse& use : uses) {
        if (use.option->only_on_command_line) return &use;
    }
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
bool is_torchruns_script(const std::string& called, const Settings& settings, const Normalized& line,
                         const Deps& deps) {
    return is_called_torchrun(called) && !settings.no_python && !settings.module && !line.program.empty() &&
           deps.is_no_program(line.program[0]);
}

/// A front end has resolved all sources; its command line for a node is complete.
Result<Sources> all_sources(std::vector<OptionUse>&& command_line, const Deps& deps) {
    Sources sources;
    sources.command_line = std::move(command_line);
    if (deps.node) return sources;
    read_variables(deps.host.environment, sources);
    if (auto done = read_file_of(sources, deps); !done) return done.error();
    return sources;
}

Result<Invocation> plan_nodes(const Settings& settings, const std::vector<OptionUse>& uses, const Normalized& line,
                              const Deps& deps) {
    Invocation invocation;
    invocation.warnings = settings.warnings;
    auto front = make_front_plan(settings, uses, line.program, deps);
    if (!front) return front.error();
    if (settings.dry_run) return print(front_dry_run(*front));
    invocation.kind = Invocation::Kind::start_nodes;
    invocation.front = std::move(*front);
    return invocation;
}

Result<Invocation> plan_it(const std::string& called, Normalized&& line, const Deps& deps) {
    const auto sources = all_sources(std::move(line.options), deps);
    if (!sources) return sources.error();
    const auto uses = strongest(*sources);
    auto settings = parse(uses);
    if (!settings) return settings.error();
    settings->called = called;
    if (is_torchruns_script(called, *settings, line, deps)) settings->run_path = true;
    if (!deps.node && starts_nodes(*settings)) return plan_nodes(*settings, uses, line, deps);
    Invocation invocation;
    invocation.warnings = settings->warnings;
    auto plan = make_plan(*settings, line.program, deps, invocation.warnings);
    if (!plan) return plan.error();
    invocation.plan = std::move(*plan);
    if (!invocation.plan.program.is_python)
        invocation.plan.program.not_found_hint = command_suggestion(line.program[0]);
    if (!settings->dry_run) return invocation;
    auto text = dry_run(invocation.plan, deps);
    if (!text) return text.error();
    invocation.kind = Invocation::Kind::print;
    invocation.output = std::move(*text);
    return invocation;
}

Result<Invocation> dispatch(const std::string& called, const std::vector<std::string>& words, const Deps& deps) {
    if (!words.empty() && words[0] == "version" && !is_called_torchrun(called)) return print(version_text());
    auto line = normalize(words);
    if (!line) return line.error();
    const OptionUse* text = text_option(line->options);
    if (!text) return plan_it(called, std::move(*line), deps);
    if (text->option->name == "print-completion") return print_completion(*text);
    return print(text->option->name == "help" ? help_text() : version_text());
}

}  // namespace

bool is_called_torchrun(std::string_view called) { return called.substr(called.rfind('/') + 1) == "torchrun"; }

Result<Invocation> read_command_line(const std::vector<std::string>& argv, const Deps& deps) {
    std::vector<std::string> words(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
    auto invocation = dispatch(argv.empty() ? "" : argv[0], words, deps);
    if (!invocation) return Error{one_line(invocation.error().text), invocation.error().status};
    return invocation;
}

}  // namespace dlaunch::launcher
