#pragma once
/// Finds the part of mpi4py that is linked with an MPI library.

#include <functional>
#include <string>

#include "launcher/mpi/linked.hpp"

namespace dlaunch::launcher {

/// Whether this Python program uses mpi4py: the code that is named, not the modules that it imports. `folder` is for a
/// relative path. Reads regular files only, since what a pipe has is the interpreter's.
[[nodiscard]] Import uses_mpi4py(const PythonFiles& python, const std::string& folder, const OpenFile& open);

/// The name (DT_SONAME) of the library that dlopen(3) finds by this name or path; empty: none.
using NameOfLibrary = std::function<std::string(const std::string& library)>;

/// The path of the module MPI of the mpi4py that `interpreter` imports; empty: there is none in the interpreter's usual
/// folders. A mpi4py with modules for several libraries takes that of MPI4PY_MPIABI, else that of the library which it
/// finds first.
[[nodiscard]] std::string mpi4py_module(const std::string& interpreter, const PythonFiles& python,
                                        const std::string& folder, const OpenFile& open, const NameOfLibrary& name_of);

}  // namespace dlaunch::launcher
