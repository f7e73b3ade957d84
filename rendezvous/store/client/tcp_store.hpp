#pragma once

#include "rendezvous/store/client/connection.hpp"
#include "rendezvous/store/client/protocol_store.hpp"

namespace dlaunch::store {

/// A store on a server that speaks the newest TCPStore protocol: dlaunch's or torch's. Not thread-safe.
///
/// After a call that failed because the connection broke, or because its deadline passed in the middle of a reply, the
/// next call tries once to reconnect. It is unknown whether the failed call took effect.
class TcpStore final : public ProtocolStore {
public:
    /// Waits for the server to come up until the deadline. `host` is a name or an address.
    static Result<std::unique_ptr<TcpStore>> connect(const std::string& host, int port, Time deadline);

protected:
    Result<std::string> exchange(const wire::Request& request, Time deadline) override;
    Result<void> await(const wire::Request& request, Time deadline) override;

private:
    TcpStore(const std::string& host, int port) : connection_(host, port) {}
    Result<void> send(const wire::Request& request, Time deadline);
    Result<void> greet(Time deadline);
    Result<void> cancel(const wire::Request& request);

    Connection connection_;
};

}  // namespace dlaunch::store
