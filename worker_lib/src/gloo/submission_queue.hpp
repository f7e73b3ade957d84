#pragma once
/// Starts the transfers of collectives in Gloo's own thread. A thread that starts a transfer holds the connection's
/// lock while it writes. Gloo's event loop (Pair::handleEvents) only tries to lock and polls again at once, so that a
/// preempted lock holder makes the loop spin, and starves the holder, for milliseconds. In Gloo's own thread the lock
/// is never contended.

#include <gloo/transport/tcp/device.h>

#include <deque>
#include <mutex>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker::gloo_backend {

class GlooFlow;

class SubmissionQueue final : public gloo::transport::tcp::Handler {
public:
    /// Must outlive the device's thread.
    explicit SubmissionQueue(gloo::transport::tcp::Device& device);

    struct Item {
        GlooFlow* flow;
        std::size_t offset, bytes;
    };
    void add(const Item& item) { added_.push_back(item); }
    /// Passes all added items to Gloo's thread. Not thread-safe.
    void submit();
    /// Removes the flow's items; on return none of them is running.
    void cancel(const GlooFlow& flow);
    /// Removes all items for good; on return none is running. Required before connections are closed: closing waits for
    /// Gloo's thread, which would wait for the connection's lock if it started a transfer. Any thread.
    void stop();

private:
    void handleEvents(int events) override;

    base::UniqueFd wakeup_;
    std::deque<Item> added_;
    std::mutex mutex_;    // guards submitted_ and stopped_
    std::mutex running_;  // held while an item is started
    std::deque<Item> submitted_;
    bool stopped_ = false;
};

}  // namespace dlaunch::worker::gloo_backend
