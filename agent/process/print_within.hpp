#pragma once

#include <chrono>
#include <string_view>

namespace dlaunch::agent {

/// Writes `text` to `fd`, in a child process: a pipe that nobody reads, a stopped terminal and a disk that stands still
/// block the child alone. After `patience` the child is killed and what was not written is lost. For a process without
/// threads.
void print_within(std::chrono::milliseconds patience, int fd, std::string_view text);

}  // namespace dlaunch::agent
