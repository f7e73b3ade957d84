#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dlaunch::launcher {

/// "starting: 3 of 4 hosts are there, waiting for n7 (12 s)", with the first of the names that are awaited; at most
/// `columns`. No I/O.
[[nodiscard]] std::string status_line(std::string_view doing, std::size_t hosts,
                                      std::span<const std::string_view> awaited, std::chrono::seconds since,
                                      std::size_t columns = 79);

/// "stopping all workers: rank 3 (n7, pid 71) exited with status 1 (4 s)"; a long reason is cut. No I/O.
[[nodiscard]] std::string stopping_line(std::string_view reason, std::chrono::seconds since, std::size_t columns = 79);

}  // namespace dlaunch::launcher
