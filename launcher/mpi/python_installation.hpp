#pragma once
/// Where a Python interpreter finds its modules.

#include <string>
#include <vector>

#include "launcher/mpi/linked.hpp"

namespace dlaunch::launcher {

struct PythonInstallation {
    std::vector<std::string> modules;    ///< folders, in the order of their search
    std::vector<std::string> libraries;  ///< folders "lib" of its prefixes, but for /usr
};

/// A virtual environment has its own folders; those of the user and of its base only where its pyvenv.cfg adds them.
/// Empty for an interpreter that is not named "python3.N". `home`: HOME.
[[nodiscard]] PythonInstallation installation_of(const std::string& interpreter, const std::string& home,
                                                 const OpenFile& open);

/// The content of a regular file; empty: there is none, or it is too long for a program.
[[nodiscard]] std::string text_at(const std::string& path, const OpenFile& open);

}  // namespace dlaunch::launcher
