#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A blocking TCP connection with a deadline for each call; signals do not interrupt a call. An error closes the
/// connection, because it is unknown how many bytes have arrived.
class Connection {
public:
    Connection(std::string host, int port) : host_(std::move(host)), port_(port) {}

    /// Connects, and checks with `greet` that the server answers. Retries with growing pauses until the deadline,
    /// because the server may not be up yet.
    base::Result<void> open(base::Time deadline, const std::function<base::Result<void>()>& greet);
    /// The same without a retry: a server that was up and refuses now is gone.
    base::Result<void> reopen(base::Time deadline, const std::function<base::Result<void>()>& greet);

    base::Result<void> send(std::string_view bytes, base::Time deadline);
    /// Exactly `size` bytes.
    base::Result<std::string> take(std::size_t size, base::Time deadline);
    /// Waits for a byte to arrive; false: the deadline passed, and the connection stays usable.
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
