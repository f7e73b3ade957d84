#pragma once

#include <string>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// The error of a failure in one line; empty if its process gave no message.
[[nodiscard]] std::string error_text(const Failure& failure);

/// The same, shortened to at most 94 columns.
[[nodiscard]] std::string error_line(const Failure& failure);

}  // namespace dlaunch::agent
