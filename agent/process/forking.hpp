#pragma once
/// A worker between its template and its own program, as its line reports it (rendezvous/wire/fork_point.hpp).

#include <sys/types.h>

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {

/// Belongs to the worker. If it is destroyed before the worker's pid is known, the worker ends as soon as it is made.
class Forking {
public:
    /// What an executed worker has from its start; a fork receives it before it goes on.
    struct Place {
        base::UniqueFd cgroup;
        std::vector<int> processors;
        std::array<base::UniqueFd, wire::kForkFiles> files;
    };
    /// From a request. Nothing, with errno, where descriptors or memory are short.
    [[nodiscard]] static std::optional<Place> place(const SpawnRequest& request);

    Forking(base::UniqueFd line, Place place) : line_(std::move(line)), place_(std::move(place)) {}

    /// Readable when step() has something new.
    [[nodiscard]] int line() const { return line_.get(); }

    struct Nothing {};  ///< no news
    struct Made {       ///< a child of this process, which was sent its files
        pid_t pid;
        base::UniqueFd pidfd;
    };
    struct Runs {};  ///< the line is no longer needed
    struct Killed {  ///< before its pid was known
        int signal;
    };
    struct Silence {};  ///< end of file: the process at the other end has ended
    using Step = std::variant<Nothing, Made, Runs, Killed, Silence, SpawnError>;

    /// The next message. An error of a worker that was made leaves a process that was killed, a child that
    /// is not registered.
    [[nodiscard]] Step step();

private:
    [[nodiscard]] Step begin(pid_t pid);

    base::UniqueFd line_;
    Place place_;
    bool made_ = false;
};

}  // namespace dlaunch::agent
