#include "agent/process/window_size.hpp"

#include <sys/ioctl.h>

namespace dlaunch::agent {

std::optional<WindowSize> window_size(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return std::nullopt;
    return WindowSize{size.ws_col, size.ws_row};
}

}  // namespace dlaunch::agent
