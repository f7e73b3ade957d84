#include "launcher/start/exported.hpp"

#include <algorithm>
#include <array>

namespace dlaunch::launcher {
namespace {

constexpr std::array<std::string_view, 8> kBegins{"SSH_",         "SLURM", "PMI_",    "PMIX_",
                                                  "XDG_SESSION_", "TMUX",  "MASTER_", "ROLE_"};
constexpr std::array<std::string_view, 21> kNames{"DLAUNCH_TOKEN",
                                                  "DLAUNCH_TOKEN_FILE",
                                                  "HOSTNAME",
                                                  "DISPLAY",
                                                  "XAUTHORITY",
                                                  "XDG_RUNTIME_DIR",
                                                  "DBUS_SESSION_BUS_ADDRESS",
                                                  "STY",
                                                  "RANK",
                                                  "WORLD_SIZE",
                                                  "LOCAL_RANK",
                                                  "LOCAL_WORLD_SIZE",
                                                  "GROUP_RANK",
                                                  "GROUP_WORLD_SIZE",
                                                  "TORCHELASTIC_RESTART_COUNT",
                                                  "TORCHELASTIC_MAX_RESTARTS",
                                                  "TORCHELASTIC_RUN_ID",
                                                  "TORCHELASTIC_USE_AGENT_STORE",
                                                  "TORCHELASTIC_ERROR_FILE",
                                                  "TORCHELASTIC_TIMER_FILE",
                                                  "PMI2_RANK"};

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

void set(std::vector<std::string>& variables, std::string variable) {
    const auto same = [name = std::string(name_of(variable))](const std::string& one) { return name_of(one) == name; };
    if (const auto found = std::ranges::find_if(variables, same); found != variables.end())
        *found = std::move(variable);
    else
        variables.push_back(std::move(variable));
}

}  // namespace

bool stays_on_host(std::string_view name) {
    return std::ranges::find(kNames, name) != kNames.end() ||
           std::ranges::any_of(kBegins, [name](std::string_view begin) { return name.starts_with(begin); });
}

Export exported(const ExportRule& rule, const agent::Variables& environment) {
    Export chosen{{}, !rule.all};
    if (rule.all)
        for (const auto& [name, value] : environment)
            if (!stays_on_host(name)) chosen.variables.push_back(name + "=" + value);
    for (const std::string& wanted : rule.names)
        for (const auto& [name, value] : environment)
            if (name == wanted) set(chosen.variables, name + "=" + value);
    for (const auto& [name, value] : rule.values) set(chosen.variables, name + "=" + value);
    return chosen;
}

std::vector<std::string> merged(const std::vector<std::string>& own, const Export& sent) {
    std::vector<std::string> all;
    for (const std::string& variable : own)
        if (sent.keeps_own || stays_on_host(name_of(variable))) all.push_back(variable);
    for (const std::string& variable : sent.variables) set(all, variable);
    return all;
}

}  // namespace dlaunch::launcher
