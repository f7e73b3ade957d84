#pragma once
/// Finds the error in the last lines of a program that prints neither a Python traceback nor a fatal message.

#include <string>
#include <vector>

#include "agent/errors/log_line.hpp"

namespace dlaunch::agent {

/// The last line that states something, with the indented lines below it, as Java's stack frames. A line that only says
/// that the program ends or failed ("training stopped", "job step failed") counts if there is no other. Empty: there is
/// none.
[[nodiscard]] std::string last_statement(const std::vector<LogLine>& lines);

}  // namespace dlaunch::agent
