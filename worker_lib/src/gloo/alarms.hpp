#pragma once
/// Ends waits at their deadlines. Gloo's own time-outs close all connections in the thread that waits; and while that
/// waits for Gloo's thread to let go of a connection, Gloo's thread may be about to begin something on it.

#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <map>
#include <mutex>

#include "rendezvous/base/fd.hpp"
#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker::gloo_backend {

/// Thrown by a wait whose deadline has passed.
struct TimedOut final : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "timed out"; }
};

class Alarms final : public gloo::transport::tcp::Handler {
public:
    /// Lives until the device's thread has ended.
    explicit Alarms(gloo::transport::tcp::Device& device);

    /// Waits until the buffer's transfer is done. False: the wait was aborted. Throws what Gloo throws, and TimedOut.
    bool wait(gloo::transport::UnboundBuffer& buffer, bool sends, Time deadline);

private:
    struct Wait {
        gloo::transport::UnboundBuffer& buffer;
        const bool sends;
        bool late = false;
    };
    void handleEvents(int events) override;
    void set(Time when);

    base::UniqueFd timer_;
    std::mutex mutex_;
    std::multimap<Time, Wait*> waits_;
    Time set_ = Time::max();
};

}  // namespace dlaunch::worker::gloo_backend
