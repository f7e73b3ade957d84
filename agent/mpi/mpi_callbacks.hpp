#pragma once

#include <functional>
#include <string>

namespace dlaunch::agent {

/// The agent's functions for the services of MPI.
struct MpiCallbacks {
    std::function<void(const std::string& line)> print;              ///< prints a line for the user
    std::function<void(const std::string& folder)> register_folder;  ///< the guard removes it if the agent dies
};

}  // namespace dlaunch::agent
