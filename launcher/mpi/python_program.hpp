#pragma once
/// What a command line of Python runs, and whether that imports mpi4py. No I/O.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::launcher {

/// One of the three is set.
struct PythonProgram {
    std::string script;  ///< path
    std::string module;  ///< of -m
    std::string code;    ///< of -c

    bool operator==(const PythonProgram&) const = default;
};

/// `command`: an interpreter and its arguments, as python(1) reads them. None: command[0] is not named as a Python, or
/// runs nothing that stands on the command line.
[[nodiscard]] std::optional<PythonProgram> python_program(const std::vector<std::string>& command);

enum class Import { none, possible, certain };

/// An import in a function, a condition or a `try` is a possible one: it may never run.
[[nodiscard]] Import imports_mpi4py(std::string_view code);

}  // namespace dlaunch::launcher
