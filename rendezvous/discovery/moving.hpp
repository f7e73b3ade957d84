#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::rendezvous {

/// A discovery whose coordinator may move to another node.
class MovingDiscovery : public Discovery {
public:
    explicit MovingDiscovery(std::uint64_t known_epoch) : known_epoch_(known_epoch) {}

    [[nodiscard]] bool moves() const final { return true; }
    void learn(std::uint64_t epoch, Milliseconds waits) final;
    [[nodiscard]] int reserve_port(const std::string& address) final;

protected:
    /// The place of a claim by this node: the reserved port, or a free one of another address.
    [[nodiscard]] base::Result<Endpoint> own_place(const std::string& address);
    /// Listens there, once this node has the claim.
    [[nodiscard]] base::Result<store::Listener> listen();

    std::atomic<std::uint64_t> known_epoch_;
    std::atomic<Milliseconds> waits_{Milliseconds(0)};  ///< for others to take over

private:
    std::mutex bound_mutex_;
    base::UniqueFd bound_;  ///< a socket that does not listen
    std::string bound_address_;
};

}  // namespace dlaunch::rendezvous
