#pragma once
/// Finds the error in the last lines of a program that prints neither a Python traceback nor a fatal message.

#include <string>
#include <vector>

#include "agent/errors/log_line.hpp"

namespace dlaunch::agent {

/// "worker exiting", "main: training stopped.", "connection closed": few words of an end, which name no error.
[[nodiscard]] bool is_end_alone(const LogLine& line);

/// A line of a stack, as those of Java and Node.js: names in it are no words of the program.
[[nodiscard]] bool is_frame(const LogLine& line);

/// The last line that states something, with the indented lines below it that are no stack. A line that only says that
/// the program ends or failed ("training stopped", "job step failed") counts if there is no other; so does "connection
/// closed" below a line that names an error. Empty: there is none.
[[nodiscard]] std::string last_statement(const std::vector<LogLine>& lines);

}  // namespace dlaunch::agent
