#include "launcher/job_token.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlaunch::launcher {
namespace {

constexpr const char* kVariable = "DLAUNCH_TOKEN";

}  // namespace

base::Result<bool> has_no_token(const Settings& settings) {
    if (!settings.no_token || !settings.has("token-file")) return settings.no_token;
    const auto is_typed = [&settings](const char* option) { return settings.spelling(option).starts_with('-'); };
    if (is_typed("no-token") == is_typed("token-file"))
        return base::Error{fmt::format("{}: expected no {} beside it", settings.spelling("no-token"),
                                       settings.spelling("token-file"))};
    return is_typed("no-token");
}

base::Result<auth::TokenPtr> job_token(const Settings& settings, const Deps& deps) {
    if (deps.node) return deps.node->token;
    const auto is_open = has_no_token(settings);
    if (!is_open) return is_open.error();
    if (*is_open) return auth::TokenPtr();
    const std::string_view variable = deps.token_variable;
    if (settings.token_file.empty() && variable.empty()) return auth::TokenPtr();
    const bool has_file = !settings.token_file.empty();
    auto token = has_file ? deps.read_token(settings.token_file) : auth::token_of(variable);
    if (!token) return has_file ? token.error() : token.error().within(kVariable);
    return token;
}

base::Result<void> plan_token(const Settings& settings, const Deps& deps, agent::Plan& plan) {
    auto token = job_token(settings, deps);
    if (!token) return token.error();
    plan.rendezvous.token = std::move(*token);
    plan.rendezvous.may_be_open = settings.no_token;
    for (const char* name : {"DLAUNCH_TOKEN", "DLAUNCH_TOKEN_FILE"})
        std::erase_if(plan.host.environment, [name](const auto& variable) { return variable.first == name; });
    return {};
}

}  // namespace dlaunch::launcher
