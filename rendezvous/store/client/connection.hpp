#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A TCP connection whose every call blocks until its deadline at most; signals do not end a call. After an error it is
/// closed, as nobody knows any more how much has arrived.
class Connection {
public:
    Connection(std::string host, int port) : host_(std::move(host)), port_(port) {}

    /// Connects, and makes sure with `greet` that somebody answers; tries again, first after a millisecond, then less
    /// and less often, until it succeeds or the deadline passes: the server may not be up yet.
    base::Result<void> open(base::Time deadline, const std::function<base::Result<void>()>& greet);
    /// The same, but once: a server that was there and refuses now is gone.
    base::Result<void> reopen(base::Time deadline, const std::function<base::Result<void>()>& greet);

    base::Result<void> send(std::string_view bytes, base::Time deadline);
    /// Exactly `size` bytes.
    base::Result<std::string> take(std::size_t size, base::Time deadline);
    /// Waits for a byte to be there; false when the deadline passed, and then the connection is as good as before.
    base::Result<bool> readable(base::Time deadline);

    [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
    void close();
    [[nodiscard]] std::string name() const;  ///< "node1:29500"

private:
    base::Result<void> connect(base::Time deadline);
    base::Result<void> lost(int number);
    base::Result<void> timed_out();

    const std::string host_;
    const int port_;
    base::UniqueFd socket_;
    std::string buffer_;  // arrived, not yet taken
    std::size_t at_ = 0;
};

}  // namespace dlaunch::store
