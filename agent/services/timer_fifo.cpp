#include "agent/services/timer_fifo.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::agent {

namespace {

std::string chosen_path(const std::string& temporary) {
    return fmt::format("{}/watchdog_timer_{:016x}", temporary, base::random_number());
}

/// A FIFO may be left over from a launcher that was killed.
bool is_fifo(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

}  // namespace

void TimerFifo::remove() {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
}

base::Result<TimerFifo> TimerFifo::make(std::string path, const std::string& temporary) {
    if (path.empty()) path = chosen_path(temporary);
    if (is_fifo(path)) ::unlink(path.c_str());
    const auto error_of_call = [&path] {
        return base::Error{fmt::format("timer file {}: {}", base::printable(path), std::strerror(errno))};
    };
    if (::mkfifo(path.c_str(), 0600) != 0) return error_of_call();
    // The agent's own writing end prevents end of file while no worker has the FIFO open.
    base::UniqueFd fifo(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fifo) {
        const auto error = error_of_call();
        ::unlink(path.c_str());
        return error;
    }
    return TimerFifo(std::move(path), std::move(fifo));
}

}  // namespace dlaunch::agent
