#pragma once
/// The files that a context's program may be, and the check that there is one before anything starts.

#include "agent/plan.hpp"
#include "launcher/deps.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// The candidates in the order of the worker's own search. A relative path is meant from the working directory.
[[nodiscard]] ProgramFiles files_of(const agent::Plan& plan, const agent::Context& context);

/// The same for another program that this one starts by its name.
[[nodiscard]] ProgramFiles files_of(const agent::Plan& plan, const agent::Context& context, const std::string& name);

/// An Error with status 127: a Python script is certainly missing (`with_scripts`); or a name is not in PATH, but a
/// file of that name, or with .py behind it, is in the working directory. Programs behind --wrap are not checked: a
/// wrapper may bring its own files.
[[nodiscard]] base::Result<void> check_programs(const agent::Plan& plan, const Deps& deps, bool with_scripts);

}  // namespace dlaunch::launcher
