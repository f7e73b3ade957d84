#include "agent/process/window_size.hpp"

#include <sys/ioctl.h>

namespace dlaunch::agent {

std::optional<WindowSize> window_size(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
    WindowSize known;  // as `script` and `docker run -t` leave it: 0 is no size
    if (size.ws_col > 0) known.columns = size.ws_col;
    if (size.ws_row > 0) known.rows = size.ws_row;
    return known;
}

}  // namespace dlaunch::agent
