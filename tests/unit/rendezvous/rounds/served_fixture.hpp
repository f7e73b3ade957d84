#pragma once
/// A coordinator that serves on a port of loopback, as long as the loop runs.

#include <memory>
#include <utility>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/coordinate/host.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::rendezvous {

struct Served {
    explicit Served(const Coordinator::Options& options, auth::TlsContextPtr tls = nullptr,
                    CoordinatorHost::Print print = {})
        : host(*CoordinatorHost::adopt(loop, std::move(store::open_listener("127.0.0.1", 0)->socket), options, {},
                                       std::move(tls), std::move(print))) {}
    [[nodiscard]] int port() const { return host->server().port(); }

    base::Loop loop;
    std::unique_ptr<CoordinatorHost> host;
};

}  // namespace dlaunch::rendezvous
