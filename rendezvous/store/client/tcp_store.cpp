#include "rendezvous/store/client/tcp_store.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace dlaunch::store {
namespace {

/// For the reply to a CANCEL_WAIT, which a live server sends at once.
constexpr auto kCancelPatience = std::chrono::seconds(5);

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::connect(const std::string& host, int port, Time deadline) {
    std::unique_ptr<TcpStore> store(new TcpStore(host, port));
    if (auto open = store->connection_.open(deadline, [&] { return store->greet(deadline); }); !open)
        return open.error();
    return store;
}

/// Sends VALIDATE, then PING with this process's pid. A store returns the pid.
Result<void> TcpStore::greet(Time deadline) {
    wire::Request ping;
    ping.operation = wire::StoreOperation::ping;
    ping.integer = getpid();
    std::string hello(wire::kGreeting), expected;
    wire::encode(ping, hello);
    wire::put_u32(expected, static_cast<std::uint32_t>(ping.integer));
    if (auto sent = connection_.send(hello, deadline); !sent) return sent;
    auto answer = connection_.take(expected.size(), deadline);
    if (!answer) return answer.error();
    if (*answer == expected) return {};
    connection_.close();
    return base::Error{fmt::format("{} is no store", connection_.name()), exit_status::kRefused};
}

Result<void> TcpStore::send(const wire::Request& request, Time deadline) {
    if (!connection_.is_open()) {
        if (auto open = connection_.reopen(deadline, [&] { return greet(deadline); }); !open) return open;
    }
    std::string bytes;
    wire::encode(request, bytes);
    return connection_.send(bytes, deadline);
}

Result<std::string> TcpStore::exchange(const wire::Request& request, Time deadline) {
    if (auto sent = send(request, deadline); !sent) return sent.error();
    return collect_reply(request, [&](std::size_t bytes) { return connection_.take(bytes, deadline); });
}

Result<void> TcpStore::await(const wire::Request& request, Time deadline) {
    if (auto sent = send(request, deadline); !sent) return sent;
    const auto there = connection_.readable(deadline);
    if (!there) return there.error();
    if (!*there) return cancel(request);
    if (auto answer = connection_.take(1, deadline); !answer) return answer.error();
    return {};
}

/// Cancels a WAIT or BARRIER. An answer that crosses the cancel still counts.
Result<void> TcpStore::cancel(const wire::Request& request) {
    const Time patience = base::Clock::now() + kCancelPatience;
    wire::Request cancel;
    cancel.operation = wire::StoreOperation::cancel_wait;
    if (auto sent = send(cancel, patience); !sent) return sent;
    auto answer = connection_.take(1, patience);
    if (!answer) return answer.error();
    if (static_cast<std::uint8_t>(answer->front()) == wire::kWaitCanceled) return late(request);
    if (auto canceled = connection_.take(1, patience); !canceled) return canceled.error();
    return {};
}

}  // namespace dlaunch::store
