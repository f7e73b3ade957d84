#include "agent/logs/channel.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>

#include "agent/logs/prefix.hpp"
#include "agent/logs/worker_pipes.hpp"

namespace dlaunch::agent {

Channel::Channel(Shared& shared, base::UniqueFd pipe, Targets targets)
    : shared_(shared), pipe_(std::move(pipe)), targets_(std::move(targets)) {
    if (targets_.screen) open_screen();
    regulate();
}

void Channel::open_screen() {
    lead_bytes_ = targets_.line.prefix.size() + (shared_.timestamps ? timestamp({}).size() : 0);
    source_ = targets_.screen->add(targets_.line);
}

Channel::~Channel() {
    if (open() && targets_.screen) targets_.screen->end(source_);
}

void Channel::regulate() {
    if (!open() || paused_) return;
    if (!may_read())
        watch_ = {};
    else if (!watch_)
        watch_ = shared_.loop.readable(pipe_.get(), [this] {
            if (!may_read()) return regulate();
            if (draining_) return read_ready();
            const std::size_t room = targets_.screen ? targets_.screen->room(lead_bytes_) : kBufferBytes;
            deliver(read_some(room), true);
        });
}

/// Reads up to `most` bytes into the shared buffer. Empty: the pipe is empty, or at its end, where the channel ends.
std::string_view Channel::read_some(std::size_t most) {
    const ssize_t count = ::read(pipe_.get(), shared_.buffer.get(), std::min({most, kBufferBytes, rest_}));
    if (count > 0) {
        const auto bytes = static_cast<std::size_t>(count);
        if (draining_) rest_ -= bytes;
        enlarge_pipe(bytes);
        return {shared_.buffer.get(), bytes};
    }
    if (count == 0 || draining_ || (errno != EAGAIN && errno != EINTR)) end();
    return {};
}

/// Enlarges the pipe of a stream that delivers much: fewer turns of the loop, and the writer blocks less often.
void Channel::enlarge_pipe(std::size_t seen) {
    constexpr std::size_t kMuch = 16 << 10;
    if (enlarged_ || seen < kMuch || is_terminal_) return;
    enlarged_ = true;
    fcntl(pipe_.get(), F_SETPIPE_SZ, shared_.pipe_bytes);  // best effort: the kernel limits a user's pipe memory
}

void Channel::deliver(std::string_view bytes, bool to_screen) {
    if (bytes.empty()) return;
    const std::string_view refused = targets_.file.write(bytes);
    const base::Time now = base::Clock::now();
    if (targets_.tail) targets_.tail->add(bytes, now);
    if (targets_.last_line) targets_.last_line->add(bytes, now);
    if (targets_.filter) {
        const std::string stamp = shared_.timestamps ? timestamp(std::chrono::system_clock::now()) : "";
        targets_.filtered->write(targets_.filter->add(bytes, stamp));
    }
    if (!refused.empty() && !targets_.screen && targets_.fallback) {
        falls_back_ = true;
        targets_.screen = targets_.fallback;
        open_screen();
    }
    if (!to_screen || !targets_.screen) return;
    targets_.screen->feed(source_, falls_back_ ? refused : bytes);
    shown_at_ = targets_.screen->place();
}

void Channel::resize(WindowSize size) const {
    if (open() && is_terminal_) set_window_size(pipe_.get(), size);
}

std::size_t Channel::waiting_bytes() const {
    if (is_terminal_) return kMostInTerminal;
    int bytes = 0;
    return ioctl(pipe_.get(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void Channel::drain() {
    rest_ = waiting_bytes();
    draining_ = true;
    read_ready();
}

/// Reads until the pipe is empty, the screen accepts no more, or kAtOnceBytes are read. Ends a drained stream without
/// another event: a foreign writer may hold the empty pipe open.
void Channel::read_ready() {
    for (std::size_t total = 0; open() && may_read() && total < kAtOnceBytes;) {
        const std::size_t room = targets_.screen ? targets_.screen->room(lead_bytes_) : kBufferBytes;
        const auto bytes = read_some(room);
        if (bytes.empty()) break;
        deliver(bytes, true);
        total += bytes.size();
    }
    if (open() && rest_ == 0) return end();
    regulate();
}

void Channel::read_now() {
    for (std::size_t left = open() ? waiting_bytes() : 0; open() && left > 0;) {
        const auto bytes = read_some(left);
        if (bytes.empty()) break;
        deliver(bytes, true);
        left -= bytes.size();
    }
}

void Channel::pause() {
    read_now();
    paused_ = true;
    watch_ = {};
    if (!open() || !targets_.screen) return;
    targets_.screen->end(source_);
    source_ = targets_.screen->add(targets_.line);
}

void Channel::resume() {
    paused_ = false;
    regulate();
}

std::uint64_t Channel::give_up() {
    std::uint64_t lost = 0;
    for (std::size_t total = 0; open() && total < kAtOnceBytes;) {
        const auto bytes = read_some(kBufferBytes);
        if (bytes.empty()) break;
        const bool room = !targets_.screen || !targets_.screen->full();
        if (!room) lost += bytes.size();
        deliver(bytes, room);
        total += bytes.size();
    }
    if (open()) end();
    return lost;
}

void Channel::end() {
    watch_ = {};
    pipe_.reset();
    if (targets_.filter) {
        const std::string stamp = shared_.timestamps ? timestamp(std::chrono::system_clock::now()) : "";
        targets_.filtered->write(targets_.filter->finish(stamp));
    }
    targets_.file.close();
    if (targets_.screen) targets_.screen->end(source_);
    source_ = nullptr;
    shared_.loop.post(shared_.on_end);
}

}  // namespace dlaunch::agent
