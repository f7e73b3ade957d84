#pragma once

#include <cstddef>
#include <optional>

namespace dlaunch::agent {

/// Of a terminal, in characters.
struct WindowSize {
    std::size_t columns = 80, rows = 24;
    friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

/// None: `fd` is no terminal. A terminal without a size has the usual one. Never blocks.
[[nodiscard]] std::optional<WindowSize> window_size(int fd);

}  // namespace dlaunch::agent
