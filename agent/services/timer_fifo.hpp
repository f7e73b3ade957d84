#pragma once

#include <string>
#include <utility>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// The FIFO of torch's file timer, at a path that the user may choose. make() and remove() block as long as its disk
/// does: call them on a thread that may wait.
class TimerFifo {
public:
    TimerFifo() = default;  ///< none
    TimerFifo(TimerFifo&& other) noexcept : path_(std::exchange(other.path_, {})), fifo_(std::move(other.fifo_)) {}
    TimerFifo& operator=(TimerFifo&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(fifo_, other.fifo_);
        return *this;
    }
    ~TimerFifo() { remove(); }

    /// Makes the FIFO (0600). An empty `path` (no TORCHELASTIC_TIMER_FILE) becomes
    /// watchdog_timer_<random> in `temporary`. Replaces an existing FIFO; any other file is an error.
    [[nodiscard]] static base::Result<TimerFifo> make(std::string path, const std::string& temporary);
    /// Removes the file; the FIFO stays open.
    void remove();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int fd() const { return fifo_.get(); }  ///< non-blocking

private:
    TimerFifo(std::string path, base::UniqueFd fifo) : path_(std::move(path)), fifo_(std::move(fifo)) {}

    std::string path_;
    base::UniqueFd fifo_;
};

}  // namespace dlaunch::agent
