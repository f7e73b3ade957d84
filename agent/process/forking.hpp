#pragma once
/// A worker on its way from the template to its own life, as its line tells (rendezvous/wire/fork_point.hpp).

#include <sys/types.h>

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {

/// Belongs to the worker. Destroyed before the worker is known, the worker ends as soon as it is there.
class Forking {
public:
    /// What a worker that executes its program is born with, this one is given before it goes on.
    struct Place {
        base::UniqueFd cgroup;
        std::vector<int> processors;
        std::array<base::UniqueFd, wire::kForkFiles> files;
    };
    /// What `request` says of it. Nothing, with errno, where descriptors or memory are short.
    [[nodiscard]] static std::optional<Place> place(const SpawnRequest& request);

    Forking(base::UniqueFd line, Place place) : line_(std::move(line)), place_(std::move(place)) {}

    /// Readable when step() has something to tell.
    [[nodiscard]] int line() const { return line_.get(); }

    struct Nothing {};  ///< no news
    struct Made {       ///< a child of ours, which has been told to go on
        pid_t pid;
        base::UniqueFd pidfd;
    };
    struct Runs {};  ///< the line has done its work
    struct Killed {  ///< before anything was known of it
        int signal;
    };
    struct Silence {};  ///< nothing will be said any more: whoever should have spoken has ended
    using Step = std::variant<Nothing, Made, Runs, Killed, Silence, SpawnError>;

    /// The next thing that is told. An error of a worker that was made leaves a process that was killed, a child that
    /// is not registered.
    [[nodiscard]] Step step();

private:
    [[nodiscard]] Step begin(pid_t pid);

    base::UniqueFd line_;
    Place place_;
    bool made_ = false;
};

}  // namespace dlaunch::agent
