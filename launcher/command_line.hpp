#pragma once
/// Turns argv into a plan, or into a text to print.

#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "launcher/start/front_plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

struct Invocation {
    enum class Kind {
        run,          ///< start `plan`
        start_nodes,  ///< start `front`
        print,        ///< write `output` to stdout and exit with `status`
    } kind = Kind::run;
    agent::Plan plan;
    FrontPlan front;
    std::string output;
    int status = 0;
    std::vector<std::string> warnings;  ///< one line each, for stderr
};

/// Whether dlaunch was called through a link named torchrun. Its first argument is then a script, never a command of
/// dlaunch.
[[nodiscard]] bool is_called_torchrun(std::string_view called);

/// `argv` includes argv[0]. Under the name torchrun, files that cannot be executed run with Python; all else is the
/// same. An error's text is one line.
[[nodiscard]] base::Result<Invocation> read_command_line(const std::vector<std::string>& argv, const Deps& deps);

}  // namespace dlaunch::launcher
