// A command line, the variables and the configuration file that go with it: any words are a plan, a text or an error of
// one line; the program's words come through byte for byte; an error in the file names its line.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/sources.hpp"
#include "launcher/command_line.hpp"
#include "rendezvous/base/text.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

using namespace dlaunch;

namespace {

void expect(bool truth) {
    if (!truth) std::abort();
}

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == std::string::npos; }

void check_plan(const agent::Plan& plan) {
    expect(!plan.contexts.empty());
    for (const agent::Context& context : plan.contexts)
        expect(!context.program.command.empty() && context.workers > 0 && context.appnum >= 0);
    expect(plan.rendezvous.min_nodes > 0 && plan.rendezvous.min_nodes <= plan.rendezvous.max_nodes);
    expect(plan.restarts.max_restarts >= 0);
}

void check_front_plan(const launcher::FrontPlan& plan) {
    expect(!plan.nodes.empty() || !plan.discovery_script.empty());
    for (const launcher::FrontNode& node : plan.nodes)
        expect(!node.host.name.empty() && node.workers >= 0 && !node.words.empty());
}

void check_config(const std::string& text) {
    const auto uses = launcher::read_config("job.conf", text);
    if (!uses) return expect(uses.error().text.starts_with("job.conf:") && is_one_line(uses.error().text));
    for (const auto& use : *uses) {
        expect(use.option && use.option->set && !use.option->only_on_command_line);
        expect(use.spelling.starts_with("job.conf:"));
    }
}

void check_normalized(const std::vector<std::string>& words) {
    const auto line = launcher::normalize(words);
    if (!line) return expect(!line.error().text.empty());
    expect(line->program.size() <= words.size());
    expect(std::equal(line->program.rbegin(), line->program.rend(), words.rbegin()));
    for (const auto& use : line->options) expect(use.option && is_one_line(use.spelling));
}

}  // namespace

/// Each line is a word, or a variable if it begins with "$". The text after an empty line is the file of --config.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(input.find("\n\n"), size);
    const std::string file(input.substr(std::min(end + 2, size)));
    std::vector<std::string> words;
    std::vector<std::pair<std::string, std::string>> environment;
    for (const std::string_view line : base::split(input.substr(0, end), '\n')) {
        if (line.find('\0') != std::string_view::npos) return -1;  // no such word can be given
        const std::size_t equals = line.find('=');
        if (line.starts_with('$') && equals != std::string_view::npos)
            environment.emplace_back(line.substr(1, equals - 1), line.substr(equals + 1));
        else
            words.emplace_back(line);
    }
    check_normalized(words);
    check_config(file);
    words.insert(words.begin(), "dlaunch");
    launcher::Deps deps = launcher::small_machine(std::move(environment));
    deps.presence = [](const std::string&) { return dlaunch::launcher::Presence::unknown; };
    deps.console_is_terminal = [] { return false; };
    deps.current_folder = [] { return std::string("/folder"); };
    deps.read_file = [&](const std::string&) { return base::text_result(file); };
    const auto invocation = launcher::read_command_line(words, deps);
    if (!invocation) {
        expect(is_one_line(invocation.error().text) && invocation.error().status != 0);
        return 0;
    }
    for (const std::string& warning : invocation->warnings) expect(!warning.empty());
    if (invocation->kind == launcher::Invocation::Kind::print)
        expect(!invocation->output.empty());
    else if (invocation->kind == launcher::Invocation::Kind::start_nodes)
        check_front_plan(invocation->front);
    else
        check_plan(invocation->plan);
    return 0;
}
