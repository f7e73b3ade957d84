#include "launcher/start/front_token.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/start/starter_command.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// The front end and the agents have different working directories.
std::string absolute(const std::string& path, const Deps& deps) {
    return path.starts_with('/') ? path : deps.current_folder() + "/" + path;
}

}  // namespace

Result<FrontToken> front_token(const Settings& settings, const Deps& deps, const agent::RendezvousPlan& job,
                               std::vector<std::string>& warnings) {
    const std::string_view launcher = starter_name(settings.hosts.starter);
    const bool passes = passes_input(settings.hosts.starter);
    if (job.token && !passes && settings.token_file.empty())
        return Error{
            fmt::format("DLAUNCH_TOKEN: {} passes no input to the agents, expected --token-file=FILE with a "
                        "token file at the same path on every host",
                        launcher)};
    if (job.token) return FrontToken{job.token, passes ? "" : absolute(settings.token_file, deps), true};
    if (job.may_be_open) return FrontToken{};
    if (!passes) {
        if (!rendezvous::is_loopback(job.local_addr))
            warnings.push_back(fmt::format(
                "the job is open to everybody who reaches this host, because {} passes no input to the agents; to "
                "close it, put a token file, which dlaunch token FILE makes, at the same path on every host, and add "
                "--token-file",
                launcher));
        return FrontToken{};
    }
    auto made = deps.fresh_token();
    if (made) return FrontToken{std::move(*made), {}, false};
    warnings.push_back(fmt::format("the job is open to everybody who reaches this host: {}", made.error().text));
    return FrontToken{};
}

}  // namespace dlaunch::launcher
