#pragma once
/// The single way from argv to a plan.

#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

struct Invocation {
    enum class Kind {
        run,    ///< start `plan`
        print,  ///< write `output` to stdout and end with 0
    } kind = Kind::run;
    agent::Plan plan;
    std::string output;
    std::vector<std::string> warnings;  ///< one line each, for stderr
};

/// A link called torchrun: what follows is a script for Python and never a command of dlaunch.
[[nodiscard]] bool is_called_torchrun(std::string_view called);

/// `argv` with argv[0]: a link called torchrun runs with Python what cannot be executed, and behaves the same
/// otherwise. An error's text is one line.
[[nodiscard]] base::Result<Invocation> read_command_line(const std::vector<std::string>& argv, const Deps& deps);

}  // namespace dlaunch::launcher
