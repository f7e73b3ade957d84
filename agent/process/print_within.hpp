#pragma once

#include <chrono>
#include <string_view>

namespace dlaunch::agent {

/// Writes `text` to `fd` in a child process, so that a pipe without a reader, a stopped terminal or a disk that does
/// not answer blocks only the child. Kills the child after `patience`; the rest of the text is lost then. For processes
/// without threads.
void print_within(std::chrono::milliseconds patience, int fd, std::string_view text);

}  // namespace dlaunch::agent
