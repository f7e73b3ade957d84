#pragma once
/// Has Gloo's own thread begin what collectives send and receive. Whoever begins something holds its connection while
/// he writes. Gloo's thread, when it is woken by what arrives there meanwhile, does not wait for the connection but
/// asks again and again; and when it has pushed the holder from his core, that is all that happens for milliseconds.

#include <gloo/transport/tcp/device.h>

#include <deque>
#include <mutex>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker::gloo_backend {

class Flow;

class Submissions final : public gloo::transport::tcp::Handler {
public:
    /// Lives until the device's thread has ended.
    explicit Submissions(gloo::transport::tcp::Device& device);

    struct Item {
        Flow* flow;
        std::size_t offset, bytes;
    };
    void add(const Item& item) { added_.push_back(item); }
    /// Hands over what has been added since; one thread at a time.
    void submit();
    /// Nothing of this flow's will be begun any more.
    void forget(const Flow& flow);
    /// Nothing will be begun any more: who closes a connection waits for Gloo's thread, which must not wait for the
    /// connection. Any thread.
    void stop();

private:
    void handleEvents(int events) override;

    base::UniqueFd wakes_;
    std::deque<Item> added_;
    std::mutex mutex_, at_work_;  // of what follows; while one item is begun
    std::deque<Item> submitted_;
    bool stopped_ = false;
};

}  // namespace dlaunch::worker::gloo_backend
