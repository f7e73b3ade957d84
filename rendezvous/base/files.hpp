#pragma once
/// Reading and writing small files at once.

#include <cstddef>
#include <string>
#include <string_view>

#include "rendezvous/base/result.hpp"

namespace dlaunch::base {

inline constexpr std::size_t kSmallFile = std::size_t{4} << 20;

/// Reads a descriptor to its end. An error if reading fails or there are more than `most_bytes`.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t most_bytes = kSmallFile);

/// Reads a file; empty if it is missing, unreadable or larger than `most_bytes`. Does not block on a FIFO.
[[nodiscard]] std::string text_of(const std::string& path, std::size_t most_bytes = kSmallFile);

/// Writes all bytes to a descriptor. False: errno has the reason.
bool write_all(int fd, std::string_view bytes);

/// Whether the path is a folder of this user, and no link.
[[nodiscard]] bool is_own_folder(const std::string& path);

}  // namespace dlaunch::base
