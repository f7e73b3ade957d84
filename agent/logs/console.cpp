#include "agent/logs/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace dlaunch::agent {

Console::Console(base::Loop& loop, int fd, std::string name, Warnings& warnings, std::function<void()> on_progress)
    : loop_(loop), name_(std::move(name)), warnings_(warnings), on_progress_(std::move(on_progress)), fd_(fd) {
    terminal_ = isatty(fd) == 1;
    find_kind(fd);
}

void Console::find_kind(int fd) {
    struct stat status {};
    if (fstat(fd, &status) != 0) return;
    if (S_ISSOCK(status.st_mode)) {
        kind_ = Kind::socket;
    } else if (terminal_ || S_ISFIFO(status.st_mode)) {
        own_.reset(open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        if (!own_ && errno == ENXIO) return;  // a pipe without a reader
        kind_ = own_ ? Kind::reopened : Kind::shared;
        if (own_) fd_ = own_.get();
    } else {
        kind_ = Kind::direct;
    }
    if (kind_ != Kind::socket && kind_ != Kind::shared) return;
    // The loop makes a watched descriptor non-blocking, which would affect other owners of a shared description. Watch
    // an epoll set that contains the descriptor instead.
    own_.reset(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLOUT;
    epoll_ctl(own_.get(), EPOLL_CTL_ADD, fd_, &event);
}

bool Console::same(int one, int other) {
    struct stat a {
    }, b{};
    if (fstat(one, &a) != 0 || fstat(other, &b) != 0) return false;
    if (a.st_dev == b.st_dev && a.st_ino == b.st_ino) return true;
    // /dev/tty and the terminal behind it are two files: compare their devices.
    unsigned first = 0, second = 0;
    return ioctl(one, TIOCGDEV, &first) == 0 && ioctl(other, TIOCGDEV, &second) == 0 && first == second;
}

void Console::flush() {
    const bool was_full = full();
    const bool waited = static_cast<bool>(writable_);
    while (kind_ != Kind::dead) {
        const std::string_view bytes_now = next();
        if (bytes_now.empty()) break;
        const ssize_t written = write_some(bytes_now);
        if (written < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) break;
            fail(errno);
            continue;
        }
        const auto bytes = static_cast<std::size_t>(written);
        if (bytes > 0) inside_line_ = queue_.view()[bytes - 1] != '\n';
        progressed_at_ = base::Clock::now();
        queue_.consume(bytes);
    }
    if (kind_ == Kind::dead) queue_.clear();
    if (next().empty())
        writable_ = {};
    else if (!writable_)
        watch();
    if (queue_.size() <= kQueueBytes / 2) full_ = false;
    if ((was_full && !full_) || (waited && queue_.empty())) loop_.post(on_progress_);
}

void Console::release() {
    if (!std::exchange(held_, false)) return;
    flush();
    loop_.post(on_progress_);  // sources may have waited for space, which flush() had no reason to watch for
}

std::string_view Console::next() const {
    if (!held_) return queue_.view();
    return inside_line_ ? queue_.view().substr(0, queue_.view().find('\n') + 1) : std::string_view();
}

ssize_t Console::write_some(std::string_view bytes) const {
    if (kind_ == Kind::socket) return send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (kind_ != Kind::shared) return write(fd_, bytes.data(), bytes.size());
    // A blocking description: after poll() a write of up to PIPE_BUF bytes does not block.
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

void Console::watch() {
    // An epoll set is readable when its member is writable.
    writable_ = kind_ == Kind::reopened ? loop_.writable(own_.get(), [this] { flush(); })
                                        : loop_.readable(own_.get(), [this] { flush(); });
}

void Console::fail(int error) {
    const bool disk = kind_ == Kind::direct && error != EIO && error != EBADF;
    if (!disk) kind_ = Kind::dead;
    queue_.clear();
    if (name_.empty()) return;
    warnings_.add(name_, error, "", disk ? "some output is lost" : "the workers' output there is discarded");
}

std::size_t Console::drop() {
    std::string rest;
    if (inside_line_) {
        const std::size_t newline = queue_.view().find('\n');
        if (newline != std::string_view::npos) rest = queue_.view().substr(0, newline + 1);
    }
    const std::size_t lost = queue_.size() - rest.size();
    queue_.clear();
    queue_.append(rest);
    full_ = false;
    return lost;
}

}  // namespace dlaunch::agent
