#pragma once

#include <string>
#include <utility>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// The FIFO of torch's file timer, whose path the user may name. Removes it at its end.
class TimerPipe {
public:
    TimerPipe() = default;  ///< none
    TimerPipe(TimerPipe&& other) noexcept : path_(std::exchange(other.path_, {})), fifo_(std::move(other.fifo_)) {}
    TimerPipe& operator=(TimerPipe&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(fifo_, other.fifo_);
        return *this;
    }
    ~TimerPipe();

    /// Makes the FIFO (0600), in whatever thread. An empty `path` (no TORCHELASTIC_TIMER_FILE) becomes
    /// $TMPDIR/watchdog_timer_<random>. Replaces an existing FIFO; any other file is an error.
    [[nodiscard]] static base::Result<TimerPipe> make(std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int fd() const { return fifo_.get(); }  ///< non-blocking

private:
    TimerPipe(std::string path, base::UniqueFd fifo) : path_(std::move(path)), fifo_(std::move(fifo)) {}

    std::string path_;
    base::UniqueFd fifo_;
};

}  // namespace dlaunch::agent
