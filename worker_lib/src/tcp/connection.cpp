#include "worker_lib/src/tcp/connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dlaunch::worker::tcp {
namespace {

/// Transfers that one system call sends.
constexpr std::size_t kAtOnce = 8;

}  // namespace

void Connection::cancel(const int* owner) {
    const auto of_owner = [owner](const Transfer& transfer) { return transfer.completed == owner; };
    ended_out_ = ended_out_ || std::any_of(sends_.begin(), sends_.end(),
                                           [&](const Send& send) { return send.sent > 0 && of_owner(send.transfer); });
    ended_in_ = ended_in_ || (target_ != kNone && arrived_ > 0 && of_owner(receives_[target_]));
    target_ = kNone;  // erasing moves the other receives
    std::erase_if(sends_, [&](const Send& send) { return of_owner(send.transfer); });
    std::erase_if(receives_, of_owner);
}

// --- out -------------------------------------------------------------------------------------------------------------

void Connection::write() {
    while (!sends_.empty() && !ended_out_) {
        iovec parts[2 * kAtOnce];
        std::size_t count = 0;
        for (std::size_t i = 0; i < std::min(kAtOnce, sends_.size()); ++i) {
            Send& send = sends_[i];
            const std::size_t of_head = std::min(send.sent, sizeof send.head), of_data = send.sent - of_head;
            if (of_head < sizeof send.head)
                parts[count++] = {reinterpret_cast<std::byte*>(&send.head) + of_head, sizeof send.head - of_head};
            parts[count++] = {send.transfer.data + of_data, send.transfer.bytes - of_data};
        }
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) {
            can_write_ = false;
            ended_out_ = errno != EAGAIN && errno != EWOULDBLOCK;
            return;
        }
        advance(static_cast<std::size_t>(sent));
    }
}

void Connection::advance(std::size_t sent) {
    while (sent > 0) {
        Send& send = sends_.front();
        const std::size_t all = sizeof send.head + send.transfer.bytes, now = std::min(sent, all - send.sent);
        send.sent += now;
        sent -= now;
        if (send.sent < all) return;
        ++*send.transfer.completed;
        sends_.pop_front();
    }
}

// --- in --------------------------------------------------------------------------------------------------------------

/// Receives at most `bytes`; 0: nothing is there, or the connection has ended.
std::size_t Connection::take(void* into, std::size_t bytes) {
    for (;;) {
        const ssize_t got = recv(socket_.get(), into, bytes, MSG_DONTWAIT);
        if (got > 0) return static_cast<std::size_t>(got);
        if (got < 0 && errno == EINTR) continue;
        can_read_ = false;
        ended_in_ = ended_in_ || got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        return 0;
    }
}

bool Connection::read_head() {
    while (stage_end_ - stage_begin_ < sizeof head_) {
        std::copy(staged_.begin() + static_cast<std::ptrdiff_t>(stage_begin_),
                  staged_.begin() + static_cast<std::ptrdiff_t>(stage_end_), staged_.begin());
        stage_end_ -= std::exchange(stage_begin_, 0);
        const std::size_t got = take(&staged_[stage_end_], kStage - stage_end_);
        if (got == 0) return false;
        stage_end_ += got;
    }
    std::memcpy(&head_, &staged_[stage_begin_], sizeof head_);
    stage_begin_ += sizeof head_;
    arrived_ = 0;
    return true;
}

/// Finds the receive for head_. False: there is none yet, or the transfer is longer than it.
bool Connection::find_receive() {
    const auto found = std::find_if(receives_.begin(), receives_.end(),
                                    [this](const Transfer& receive) { return receive.slot == head_.slot; });
    if (found == receives_.end()) return false;
    if (head_.bytes > found->bytes) {
        ended_in_ = true;
        return false;
    }
    target_ = static_cast<std::size_t>(found - receives_.begin());
    return true;
}

void Connection::read() {
    for (;;) {
        if (!has_head_ && (receives_.empty() || !(has_head_ = read_head()))) return;
        if (target_ == kNone && !find_receive()) return;
        const Transfer& target = receives_[target_];
        const std::size_t staged = std::min(stage_end_ - stage_begin_, head_.bytes - arrived_);
        std::memcpy(target.data + arrived_, &staged_[stage_begin_], staged);
        stage_begin_ += staged;
        arrived_ += staged;
        while (arrived_ < head_.bytes) {
            const std::size_t got = take(target.data + arrived_, head_.bytes - arrived_);
            if (got == 0) return;
            arrived_ += got;
        }
        ++*target.completed;
        receives_.erase(receives_.begin() + static_cast<std::ptrdiff_t>(std::exchange(target_, kNone)));
        has_head_ = false;
    }
}

}  // namespace dlaunch::worker::tcp
