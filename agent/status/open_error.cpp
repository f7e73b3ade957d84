#include "agent/status/open_error.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace dlaunch::agent {

/// ENXIO's text is "No such device or address", also for a FIFO.
std::string open_error(const std::string& path, int error) {
    struct stat about {};
    const bool is_fifo = error == ENXIO && stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
    return is_fifo ? "a FIFO without a reader" : std::strerror(error);
}

}  // namespace dlaunch::agent
