#include "launcher/cli/parse.hpp"

#include <csignal>

namespace dlaunch::launcher {

base::Result<Settings> parse(const std::vector<OptionUse>& uses) {
    Settings settings;
    for (const OptionUse& use : uses) {
        if (!use.option->set) continue;
        if (auto done = use.option->set(use, settings); !done) return done.error().within(use.spelling);
        settings.spellings[use.option->key()] = use.spelling;
    }
    return settings;
}

agent::Plan with_default_signals(agent::Plan plan) {
    plan.handled_signals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    plan.handled_signals_text = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
    return plan;
}

std::string Settings::spelling(std::string_view option) const {
    if (auto found = spellings.find(option); found != spellings.end()) return found->second;
    return "--" + std::string(option);
}

}  // namespace dlaunch::launcher
