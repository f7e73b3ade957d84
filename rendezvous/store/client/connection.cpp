#include "rendezvous/store/client/connection.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "rendezvous/base/address.hpp"
#include "rendezvous/base/connect.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::store {
namespace {

using base::Clock;
using base::Duration;
using base::Error;
using base::Result;
using base::Time;

constexpr Duration kFirstPause = std::chrono::milliseconds(1), kLongestPause = std::chrono::seconds(1);
/// Time for one address before the next one is tried.
constexpr Duration kOneAttempt = std::chrono::seconds(5);
constexpr std::size_t kReadBytes = 64 << 10;

/// A random share from half to all of the pause, so that a thousand clients do not retry in step.
Duration jittered(Duration pause) {
    static thread_local std::minstd_rand random{static_cast<unsigned>(base::random_number())};
    return std::chrono::duration_cast<Duration>(pause * std::uniform_real_distribution<double>(0.5, 1.0)(random));
}

}  // namespace

std::string Connection::name() const { return base::endpoint_text(host_, port_); }

void Connection::close() {
    socket_.reset();
    buffer_.clear();
    at_ = 0;
}

Result<void> Connection::lost(int number) {
    close();
    const char* why = number == 0 ? "the server closed the connection" : std::strerror(number);
    return Error{fmt::format("store at {}: {}", name(), why), exit_status::kCoordinatorLost};
}

Result<void> Connection::timed_out() {
    close();
    return Error{fmt::format("store at {}: timed out", name()), exit_status::kRendezvousTimeout};
}

Result<void> Connection::connect(Time deadline) {
    close();
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &list); error != 0)
        return Error{fmt::format("store at {}: {}", name(), gai_strerror(error)), exit_status::kCoordinatorLost};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
    int error = 0;
    for (const addrinfo* at = list; at; at = at->ai_next) {
        error = base::connect_by(socket_, at->ai_addr, at->ai_addrlen, std::min(deadline, Clock::now() + kOneAttempt));
        if (error == 0) return {};
    }
    return lost(error);
}

Result<void> Connection::reopen(Time deadline, const std::function<Result<void>()>& greet) {
    if (auto connected = connect(deadline); !connected) return connected;
    return greet();
}

Result<void> Connection::open(Time deadline, const std::function<Result<void>()>& greet) {
    for (Duration pause = kFirstPause;; pause = std::min(pause * 3 / 2, kLongestPause)) {
        auto opened = reopen(deadline, greet);
        if (opened) return opened;
        const auto left = deadline - Clock::now();
        if (left <= Duration::zero())
            return Error{fmt::format("{} until the deadline", opened.error().text), exit_status::kRendezvousTimeout};
        std::this_thread::sleep_for(std::min(jittered(pause), left));
    }
}

Result<void> Connection::send(std::string_view bytes, Time deadline) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(count));
        else if (errno == EAGAIN && !base::await_ready(socket_.get(), POLLOUT, deadline))
            return timed_out();
        else if (errno != EAGAIN && errno != EINTR)
            return lost(errno);
    }
    return {};
}

Result<bool> Connection::readable(Time deadline) {
    if (at_ < buffer_.size()) return true;
    return base::await_ready(socket_.get(), POLLIN, deadline);
}

Result<std::string> Connection::take(std::size_t size, Time deadline) {
    std::string taken = buffer_.substr(at_, size);
    at_ += taken.size();
    if (at_ == buffer_.size()) {
        buffer_.clear();
        at_ = 0;
    }
    while (taken.size() < size) {
        std::array<char, kReadBytes> chunk;
        const ssize_t count = recv(socket_.get(), chunk.data(), chunk.size(), 0);
        if (count > 0) {
            const auto arrived = static_cast<std::size_t>(count), used = std::min(arrived, size - taken.size());
            taken.append(chunk.data(), used);
            buffer_.assign(chunk.data() + used, arrived - used);
        } else if (count == 0) {
            return lost(0).error();
        } else if (errno == EAGAIN) {
            if (!base::await_ready(socket_.get(), POLLIN, deadline)) return timed_out().error();
        } else if (errno != EINTR) {
            return lost(errno).error();
        }
    }
    return base::text_result(std::move(taken));
}

}  // namespace dlaunch::store
