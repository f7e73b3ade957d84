#pragma once

#include <string>

#include "launcher/mpi/linked.hpp"

namespace dlaunch::launcher {

/// The first 16 KiB of the program, if that is a shell script on a local disk (LocalFiles); else empty.
[[nodiscard]] std::string shell_script(const ProgramFiles& files);

}  // namespace dlaunch::launcher
