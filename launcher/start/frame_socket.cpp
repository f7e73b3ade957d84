#include "launcher/start/frame_socket.hpp"

#include <fcntl.h>

#include <array>
#include <cstring>
#include <utility>

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kMostSent = 1 << 20;  // bytes of sent frames that the queue keeps before it is moved

}  // namespace

FrameSocket::FrameSocket(base::Loop& loop, std::shared_ptr<net::Stream> stream, std::shared_ptr<wire::Frames> frames,
                         Handlers handlers)
    : loop_(loop),
      stream_(std::move(stream)),
      second_(fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0)),
      handlers_(std::make_shared<Handlers>(std::move(handlers))),
      frames_(std::move(frames)) {
    readable_ = loop_.readable(stream_->fd(), [this] { on_readable(); });
    loop_.post([this, alive = alive_] {
        if (*alive && stream_) serve_all();
    });
}

FrameSocket::~FrameSocket() { *alive_ = false; }

void FrameSocket::send(std::string_view frame) {
    if (!stream_) return;
    unsent_ += frame;
    if (!writable_) flush();
}

/// An error shows in on_readable(), with its reason. Inside TLS, bytes that were taken may still wait to be sent.
void FrameSocket::flush() {
    bool is_blocked = false;
    while (!is_blocked && (unsent() > 0 || stream_->has_unsent())) {
        const auto sent = stream_->send(std::string_view(unsent_).substr(sent_));
        sent_ += sent.bytes;
        is_blocked = sent.blocked;
        if (sent.error == 0) continue;
        sent_ = unsent_.size();
        break;
    }
    if (unsent() == 0 || sent_ > kMostSent) {
        unsent_.erase(0, sent_);
        sent_ = 0;
    }
    if (!is_blocked)
        writable_ = {};
    else if (!writable_)
        writable_ = loop_.writable(second_.get(), [this] { flush(); });
}

void FrameSocket::on_readable() {
    std::array<char, kReadBytes> bytes;
    const auto received = stream_->receive(bytes);
    using Kind = net::Stream::Received::Kind;
    if (received.kind == Kind::nothing) return;
    if (received.kind != Kind::bytes) {
        const bool is_end = received.kind == Kind::end || stream_->has_fin();
        return close(is_end ? "" : std::strerror(received.error));
    }
    heard_at_ = base::Clock::now();
    frames_->feed(received.bytes);
    serve_all();
}

void FrameSocket::serve_all() {
    const auto frames = frames_;
    if (serve()) frames->keep();
}

/// False: this object is gone, or has closed.
bool FrameSocket::serve() {
    const auto alive = alive_;
    wire::Frame frame;
    for (;;) {
        const auto outcome = frames_->next(frame);
        if (outcome == wire::Frames::Outcome::more) return true;
        if (outcome == wire::Frames::Outcome::refused) {
            close("it sends no frames of dlaunch");
            return false;
        }
        const auto handlers = handlers_;
        handlers->frame(static_cast<FrameKind>(frame.number), frame.payload);
        if (!*alive || !stream_) return false;
    }
}

void FrameSocket::close(const std::string& why) {
    readable_ = {};
    writable_ = {};
    second_.reset();
    stream_.reset();
    const auto handlers = handlers_;
    handlers->closed(why);
}

}  // namespace dlaunch::launcher
