#include "agent/services/timer_pipe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/errors/escape.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::agent {

namespace {

std::string chosen_path() {
    return fmt::format("{}/watchdog_timer_{:016x}", base::temporary_folder(), base::random_number());
}

/// A FIFO may be left over from a launcher that was killed.
bool is_fifo(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

}  // namespace

TimerPipe::~TimerPipe() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

base::Result<TimerPipe> TimerPipe::make(std::string path) {
    if (path.empty()) path = chosen_path();
    if (is_fifo(path)) ::unlink(path.c_str());
    if (::mkfifo(path.c_str(), 0600) != 0)
        return base::Error{fmt::format("timer file {}: {}", printable(path), std::strerror(errno))};
    // The agent's own writing end prevents end of file while no worker has the FIFO open.
    base::UniqueFd fifo(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fifo) {
        const int error = errno;
        ::unlink(path.c_str());
        return base::Error{fmt::format("timer file {}: {}", printable(path), std::strerror(error))};
    }
    return TimerPipe(std::move(path), std::move(fifo));
}

}  // namespace dlaunch::agent
