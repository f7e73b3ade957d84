#pragma once
/// Runs a short program beside the job, such as a scheduler's command, without holding up the loop.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "agent/process/child_program.hpp"
#include "agent/process/children.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the agent, one program at a time. Destruction kills the program.
class Helper {
public:
    struct Result {
        int status = 0;      ///< as a shell's $?; 126 or 127: could not be executed
        std::string output;  ///< of stdout and stderr together, its first bytes; the reason if there is no exit
    };

    /// The arguments must outlive this object.
    Helper(base::Loop& loop, Children& children) : loop_(loop), program_(loop, children) {}

    /// Runs `words` with these variables; words[0] is looked up in PATH. Kills the program after `limit`, with status
    /// 124. `done` runs once, from the loop.
    void run(const std::vector<std::string>& words, const std::vector<std::pair<std::string, std::string>>& variables,
             base::Duration limit, std::function<void(const Result&)> done);

private:
    void finish(Result result);

    base::Loop& loop_;
    ChildProgram program_;
    std::function<void(const Result&)> done_;
    base::UniqueFd pipe_;
    base::Timer limit_;
};

}  // namespace dlaunch::agent
