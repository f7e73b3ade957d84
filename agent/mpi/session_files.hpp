#pragma once

#include <string>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Removes the folders of an ended round with all that is in them, when the killed server has ended: it may be making a
/// file. `server`: its pidfd, or none. For a thread, because a disk may not respond.
void remove_session_files(const base::UniqueFd& server, const std::vector<std::string>& folders);

}  // namespace dlaunch::agent
