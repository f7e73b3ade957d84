#pragma once
/// Which token a job of several hosts has, and how its agents get it.

#include <string>
#include <vector>

#include "launcher/cli/settings.hpp"
#include "launcher/deps.hpp"

namespace dlaunch::launcher {

struct FrontToken {
    auth::TokenPtr token;     ///< null: an open job
    std::string file;         ///< its path on the hosts, where the launcher passes no input to agents; else empty
    bool is_of_user = false;  ///< else it was made for this job
};

/// `job`: with the user's token, if there is one. Else every job whose launcher passes input to agents gets a token of
/// its own, unless the user has it open. For any other open job a warning names the way to close it.
[[nodiscard]] base::Result<FrontToken> front_token(const Settings& settings, const Deps& deps,
                                                   const agent::RendezvousPlan& job,
                                                   std::vector<std::string>& warnings);

}  // namespace dlaunch::launcher
