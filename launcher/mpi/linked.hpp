#pragma once
/// Finds out which MPI library a program is linked with, and with it the protocol that the program speaks.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mpi/family.hpp"
#include "launcher/mpi/python_program.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::launcher {

/// A program that Python runs, and where Python finds its modules.
struct PythonFiles {
    PythonProgram program;
    std::string search_path;    ///< PYTHONPATH
    std::string home;           ///< HOME
    std::string mpi_abi{};      ///< MPI4PY_MPIABI: "openmpi"
    std::string mpi_library{};  ///< MPI4PY_LIBMPI: paths of libraries, or folders with one

    bool operator==(const PythonFiles&) const = default;
};

/// Where a worker's program and its libraries may be.
struct ProgramFiles {
    std::vector<std::string> candidates;  ///< absolute; the program is the first that can be executed
    std::string library_path;             ///< LD_LIBRARY_PATH
    std::string folder;                   ///< the worker's working directory, absolute: for relative names
    std::optional<PythonFiles> python{};  ///< the program is an interpreter that runs this

    bool operator==(const ProgramFiles&) const = default;
};

struct Linked {
    agent::MpiFamily family = agent::MpiFamily::none;
    std::string library;     ///< name of the MPI library; empty without one
    bool by_mpi4py = false;  ///< a Python program uses it; it may be unknown then

    bool operator==(const Linked&) const = default;
};

/// The family of a library with this name; none: it is no MPI library.
[[nodiscard]] agent::MpiFamily family_of(std::string_view library);

/// Opens a file for reading; no descriptor if it cannot be read.
using OpenFile = std::function<base::UniqueFd(const std::string& path)>;

/// Looks at the libraries that the program needs, then at those that these need, until one is an MPI library. The
/// search is bounded; scripts and other files without a dynamic section need none. A Python program that imports mpi4py
/// needs that module's libraries.
[[nodiscard]] Linked linked_with(const ProgramFiles& files, const OpenFile& open);

}  // namespace dlaunch::launcher
