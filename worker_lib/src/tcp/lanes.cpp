#include "worker_lib/src/tcp/lanes.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

namespace dlaunch::worker::tcp {
namespace {

/// Interval at which a rank that connects looks for an abort.
constexpr std::chrono::milliseconds kConnectSlice{500};

}  // namespace

class TcpLane final : public mesh::Lane {
public:
    TcpLane(Lanes& lanes, int peer, bool sends, int connection)
        : lanes_(lanes),
          peer_(peer),
          sends_(sends),
          connection_(connection),
          bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (!bell_) throw std::system_error(errno, std::generic_category(), "eventfd");
        const std::lock_guard lock(lanes_.mutex_);
        lanes_.lanes_.push_back(this);
    }
    ~TcpLane() override {
        const std::lock_guard lock(lanes_.mutex_);
        std::erase(lanes_.lanes_, this);
    }

    void transfer(std::span<std::byte> data, std::size_t& done, Time deadline) override {
        if (!socket_) open(deadline);
        for (int spins = lanes_.spins_; done < data.size();) {
            std::byte* const next = data.data() + done;
            const std::size_t rest = data.size() - done;
            const ssize_t moved = sends_ ? send(socket_.get(), next, rest, MSG_DONTWAIT | MSG_NOSIGNAL)
                                         : recv(socket_.get(), next, rest, MSG_DONTWAIT);
            if (moved > 0) {
                done += static_cast<std::size_t>(moved);
            } else if (moved == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
                throw mesh::Broken();
            } else if (spins-- <= 0) {
                pollfd ready{socket_.get(), static_cast<short>(sends_ ? POLLOUT | POLLRDHUP : POLLIN), 0};
                await({&ready, 1}, deadline);
                // A receiver that leaves with bytes unread does not end a send that waits for their place.
                if (sends_ && (ready.revents & POLLRDHUP) != 0) throw mesh::Broken();
            }
        }
    }

    [[nodiscard]] bool resumes() const override { return true; }

    std::size_t send_now(std::span<const std::byte> head, std::span<const std::byte> data) override {
        if (!socket_) return 0;
        iovec parts[] = {{const_cast<std::byte*>(head.data()), head.size()},
                         {const_cast<std::byte*>(data.data()), data.size()}};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = data.empty() ? 1 : 2;
        const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }

    void abort() override {
        aborted_ = true;
        ring();
    }

    void ring() { eventfd_write(bell_.get(), 1); }
    [[nodiscard]] int peer() const { return peer_; }
    void shut_down() {
        if (socket_) shutdown(socket_.get(), SHUT_RDWR);
    }

private:
    /// Waits for one of the descriptors or the bell.
    void await(std::span<pollfd> others, Time deadline) {
        if (aborted_) throw mesh::Broken();
        std::vector<pollfd> all(others.begin(), others.end());
        all.push_back({bell_.get(), POLLIN, 0});
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        const int count = poll(all.data(), all.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
        if (aborted_) throw mesh::Broken();
        if (count == 0 && Clock::now() >= deadline) throw mesh::TimedOut();
        std::copy_n(all.begin(), others.size(), others.begin());
        eventfd_t ignored;
        if (all.back().revents != 0) eventfd_read(bell_.get(), &ignored);
    }

    void open(Time deadline) {
        base::UniqueFd opened = sends_ ? connect_to_peer(deadline) : accept_from_peer(deadline);
        const std::lock_guard lock(lanes_.mutex_);
        socket_ = std::move(opened);
        if (lanes_.closed_) shut_down();
    }

    base::UniqueFd connect_to_peer(Time deadline) {
        for (;;) {
            if (aborted_) throw mesh::Broken();
            auto opened = connect(lanes_.invitations_[static_cast<std::size_t>(peer_)], lanes_.rank_, Purpose::messages,
                                  std::min(deadline, after(kConnectSlice)));
            if (opened) return opened;
            if (Clock::now() >= deadline) throw mesh::TimedOut();
        }
    }

    base::UniqueFd accept_from_peer(Time deadline) {
        for (bool is_there = true;;) {
            if (auto taken = lanes_.take(peer_)) return taken;
            if (!is_there) throw mesh::Broken();
            pollfd others[] = {{lanes_.acceptor_->socket(), POLLIN, 0}, {connection_, POLLRDHUP, 0}};
            await(others, deadline);
            is_there = others[1].revents == 0;
        }
    }

    Lanes& lanes_;
    const int peer_;
    const bool sends_;
    const int connection_;
    const base::UniqueFd bell_;
    std::atomic<bool> aborted_{false};
    base::UniqueFd socket_;  // set under the mutex of lanes_
};

std::unique_ptr<mesh::Lane> Lanes::make(int peer, bool sends, int connection) {
    return std::make_unique<TcpLane>(*this, peer, sends, connection);
}

/// Accepts all connections that have arrived, and returns that of `peer`, if there is one.
base::UniqueFd Lanes::take(int peer) {
    const std::lock_guard lock(mutex_);
    while (auto accepted = acceptor_->accept(static_cast<int>(arrived_.size()))) {
        if (accepted->purpose != Purpose::messages) continue;
        arrived_[static_cast<std::size_t>(accepted->rank)] = std::move(accepted->socket);
        for (TcpLane* lane : lanes_)
            if (lane->peer() == accepted->rank && accepted->rank != peer) lane->ring();
    }
    return std::move(arrived_[static_cast<std::size_t>(peer)]);
}

void Lanes::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    acceptor_->close();
    for (TcpLane* lane : lanes_) lane->shut_down();
}

}  // namespace dlaunch::worker::tcp
