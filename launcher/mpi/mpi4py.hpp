#pragma once
/// Finds the part of mpi4py that is linked with an MPI library.

#include <string>

#include "launcher/mpi/linked.hpp"

namespace dlaunch::launcher {

/// Whether this Python program uses mpi4py: the code that is named, not the modules that it imports. `folder` is for a
/// relative path. Reads regular files only, since what a pipe has is the interpreter's.
[[nodiscard]] Import uses_mpi4py(const PythonFiles& python, const std::string& folder, const OpenFile& open);

/// The path of the module MPI of the mpi4py that `interpreter` imports; empty: there is none in the interpreter's usual
/// folders, or one for several libraries, which chooses at its import.
[[nodiscard]] std::string mpi4py_module(const std::string& interpreter, const PythonFiles& python,
                                        const std::string& folder, const OpenFile& open);

}  // namespace dlaunch::launcher
