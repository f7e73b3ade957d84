#pragma once
/// The fork of a worker from the template: the agent's side of the worker's channel (rendezvous/wire/fork_point.hpp).

#include <sys/types.h>

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {

/// Owned by the worker's record. If destroyed before the pid arrives, the fork finds its channel closed and exits.
class Forking {
public:
    /// The cgroup, CPUs and files that an executed worker has from its start. A fork receives them before it continues.
    struct Place {
        base::UniqueFd cgroup;
        std::vector<int> processors;
        std::array<base::UniqueFd, wire::kForkFiles> files;
    };
    /// Copies them from a request. None, with errno, if descriptors or memory run out.
    [[nodiscard]] static std::optional<Place> place(const SpawnRequest& request);

    Forking(base::UniqueFd line, Place place) : line_(std::move(line)), place_(std::move(place)) {}

    /// Readable when step() can read a message.
    [[nodiscard]] int line() const { return line_.get(); }

    struct Nothing {};  ///< no complete message yet
    struct Made {       ///< the fork is a child of this process and has received its files
        pid_t pid;
        base::UniqueFd pidfd;
    };
    struct Runs {};  ///< the worker continues from the fork point; the channel may close
    struct Killed {  ///< the fork died before its pid was known
        int signal;
    };
    struct Silence {};  ///< end of file: the peer has exited
    using Step = std::variant<Nothing, Made, Runs, Killed, Silence, SpawnError>;

    /// Reads the next message. After an error of a fork with a known pid, that child has been killed and is not
    /// registered.
    [[nodiscard]] Step step();

private:
    [[nodiscard]] Step begin(pid_t pid);

    base::UniqueFd line_;
    Place place_;
    bool made_ = false;
};

}  // namespace dlaunch::agent
