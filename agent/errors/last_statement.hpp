#pragma once
/// Finds the error in the last lines of a program that prints neither a Python traceback nor a fatal message.

#include <string>
#include <vector>

#include "agent/errors/log_line.hpp"

namespace dlaunch::agent {

/// "worker exiting", "main: training stopped.", "connection closed": short messages about an end, which name no error.
[[nodiscard]] bool is_end_alone(const LogLine& line);

/// A line of a stack, as of Java and Node.js: names in it are not part of a message.
[[nodiscard]] bool is_frame(const LogLine& line);

/// The last line that states something, with the indented lines below it that are no stack. A line that only announces
/// an end or a failure ("training stopped", "job step failed") counts if there is no other; so does "connection closed"
/// below a line that names an error. Empty: there is none.
[[nodiscard]] std::string last_statement(const std::vector<LogLine>& lines);

}  // namespace dlaunch::agent
