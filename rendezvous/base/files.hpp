#pragma once
/// Small files, whole.

#include <cstddef>
#include <string>

#include "rendezvous/base/result.hpp"

namespace dlaunch::base {

inline constexpr std::size_t kSmallFile = std::size_t{4} << 20;

/// What is left to read on a descriptor, up to its end. An error when reading fails, or there are more bytes than that.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t most_bytes = kSmallFile);

/// The whole file; empty when it is missing, unreadable or larger. A FIFO in its place is not waited for.
[[nodiscard]] std::string text_of(const std::string& path, std::size_t most_bytes = kSmallFile);

}  // namespace dlaunch::base
