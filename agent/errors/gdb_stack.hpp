#pragma once
/// The stack of a native worker as gdb prints it.

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// The words of a command that prints the stack of the main thread of `pid`. Reads no file of the user's or the
/// program's, and asks no server for symbols.
[[nodiscard]] std::vector<std::string> gdb_command(int pid);

/// The frames in gdb's output, innermost first: "Trainer::wait (hang.cpp:4)". Empty: gdb has shown none.
[[nodiscard]] std::vector<std::string> gdb_frames(std::string_view output);

/// Frames of gdb or of a worker's own record, without those inside the C library but the outermost of them, which the
/// program has called, and without the C++ library's.
[[nodiscard]] std::vector<std::string> own_frames(std::vector<std::string> frames);

}  // namespace dlaunch::agent
