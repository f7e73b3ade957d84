#pragma once
/// Finds the statement of a process's error in the last lines of its stderr.

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Begins a Python traceback.
inline constexpr std::string_view kTraceback = "Traceback (most recent call last):";

/// The part of a stderr tail that states the error of its process: the exception that a Python traceback ends with,
/// what() of an uncaught C++ exception, a fatal error of MPI, a panic of Go or Rust, else the last
/// line (last_statement.hpp). Without the prefix of torch
/// ("[rank1]: "), warnings, and lines that only announce the end of the process ("giving up"). Empty: there is none.
///
/// Of chained Python exceptions it is the first one, which `raise ... from` and a `finally` only follow. If the first
/// one is the loss of a peer and an error of the program's own came up while it was handled, it is that error, with
/// kWhileHandling and the loss behind it.
[[nodiscard]] std::string error_message(const std::vector<std::string>& stderr_tail);

/// The same for a process that stated nothing on stderr (`2>&1`, logging to stdout). Other output is there, too: a line
/// counts only if it announces an error ("fatal: ..."), or reports a lost peer.
[[nodiscard]] std::string error_on_stdout(const std::vector<std::string>& stdout_tail);

struct StatedError {
    std::string text{};            ///< empty: there is none
    bool may_be_survived = false;  ///< its process has logged it or gone on, or it is of a thread, a task or a child
};
/// The same if it is an error by its form: a traceback, what(), a panic, a last line "error: ..." or "ERROR ...".
[[nodiscard]] StatedError stated_error(const std::vector<std::string>& stderr_tail);

}  // namespace dlaunch::agent
