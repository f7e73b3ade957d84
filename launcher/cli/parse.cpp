#include "launcher/cli/parse.hpp"
#include "rendezvous/base/end_signals.hpp"

#include <fmt/format.h>

namespace dlaunch::launcher {

namespace {

/// A use of the same option by a name with another meaning, such as -n beside --nproc-per-node; null: none. All uses of
/// an option come from one source.
const OptionUse* contradiction(const std::vector<OptionUse>& uses, const OptionUse& to) {
    if (!to.option->alone) return nullptr;
    for (const OptionUse& use : uses)
        if (use.option != to.option && use.option->key() == to.option->key()) return &use;
    return nullptr;
}

}  // namespace

base::Result<Settings> parse(const std::vector<OptionUse>& uses) {
    Settings settings;
    for (const OptionUse& use : uses) {
        if (!use.option->set) continue;
        if (const OptionUse* const other = contradiction(uses, use))
            return base::Error{fmt::format("{} and {} contradict each other, expected one of -{} and --{}",
                                           use.spelling, other->spelling, use.option->letter, other->option->name)};
        if (auto done = use.option->set(use, settings); !done) return done.error().within(use.spelling);
        settings.spellings[use.option->key()] = use.spelling;
    }
    return settings;
}

agent::Plan with_default_signals(agent::Plan plan) {
    plan.handled_signals = {base::kEndSignals.begin(), base::kEndSignals.end()};
    plan.handled_signals_text = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
    return plan;
}

std::string Settings::spelling(std::string_view option) const {
    if (auto found = spellings.find(option); found != spellings.end()) return found->second;
    return "--" + std::string(option);
}

base::Error wrong(const Settings& settings, std::string_view option, std::string_view expected) {
    return {fmt::format("{}: expected {}", settings.spelling(option), expected)};
}

}  // namespace dlaunch::launcher
