#include "launcher/start/frame_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kMostSent = 1 << 20;  // bytes of sent frames that the queue keeps before it is moved

}  // namespace

FrameSocket::FrameSocket(base::Loop& loop, base::UniqueFd socket, std::size_t limit, Handlers handlers)
    : loop_(loop), socket_(std::move(socket)), handlers_(std::make_shared<Handlers>(std::move(handlers))) {
    fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
    second_ = base::UniqueFd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
    decoder_.limit_payload(limit);
    readable_ = loop_.readable(socket_.get(), [this] { on_readable(); });
}

FrameSocket::~FrameSocket() { *alive_ = false; }

void FrameSocket::send(std::string_view frame) {
    if (!socket_) return;
    unsent_ += frame;
    if (!writable_) flush();
}

/// An error shows in on_readable(), with its reason.
void FrameSocket::flush() {
    while (unsent() > 0) {
        const ssize_t count = ::send(second_.get(), unsent_.data() + sent_, unsent(), MSG_NOSIGNAL);
        if (count > 0) {
            sent_ += static_cast<std::size_t>(count);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) break;
        sent_ = unsent_.size();
    }
    if (unsent() == 0 || sent_ > kMostSent) {
        unsent_.erase(0, sent_);
        sent_ = 0;
    }
    if (unsent() == 0)
        writable_ = {};
    else if (!writable_)
        writable_ = loop_.writable(second_.get(), [this] { flush(); });
}

void FrameSocket::on_readable() {
    std::array<char, kReadBytes> bytes;
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return close(count == 0 ? "" : std::strerror(errno));
    heard_at_ = base::Clock::now();
    decoder_.feed({bytes.data(), static_cast<std::size_t>(count)});
    if (serve()) decoder_.keep();
}

/// False: this object is gone, or has closed.
bool FrameSocket::serve() {
    const auto alive = alive_;
    wire::Request request;
    for (;;) {
        const auto outcome = decoder_.next(request);
        if (outcome == wire::Decoder::Outcome::more) return true;
        if (outcome == wire::Decoder::Outcome::refused) {
            close("it sends no frames of dlaunch");
            return false;
        }
        const auto handlers = handlers_;
        handlers->frame(static_cast<FrameKind>(request.number), request.value);
        if (!*alive || !socket_) return false;
    }
}

void FrameSocket::close(const std::string& why) {
    readable_ = {};
    writable_ = {};
    second_.reset();
    socket_.reset();
    const auto handlers = handlers_;
    handlers->closed(why);
}

}  // namespace dlaunch::launcher
