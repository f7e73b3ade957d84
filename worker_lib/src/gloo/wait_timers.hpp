#pragma once
/// Ends waits at their deadlines by a timerfd in Gloo's event loop. Gloo's own time-outs are unusable: they close all
/// connections in the waiting thread, which can deadlock with Gloo's thread over a connection's lock.

#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <map>
#include <mutex>

#include "rendezvous/base/fd.hpp"
#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker::gloo_backend {

class WaitTimers final : public gloo::transport::tcp::Handler {
public:
    /// Must outlive the device's thread.
    explicit WaitTimers(gloo::transport::tcp::Device& device);

    /// Waits until the buffer's transfer is done. False: the wait was aborted. Throws mesh::TimedOut and Gloo's
    /// exceptions.
    bool wait(gloo::transport::UnboundBuffer& buffer, bool sends, Time deadline);

private:
    struct Wait {
        gloo::transport::UnboundBuffer& buffer;
        const bool sends;
        bool timed_out = false;
    };
    void handleEvents(int events) override;
    void arm(Time when);

    base::UniqueFd timer_;
    std::mutex mutex_;
    std::multimap<Time, Wait*> waits_;
    Time armed_ = Time::max();
};

}  // namespace dlaunch::worker::gloo_backend
