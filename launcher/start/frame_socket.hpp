#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "launcher/start/messages.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/wire/frames.hpp"

namespace dlaunch::launcher {

/// A connection of frames on a loop. A handler may destroy the object.
class FrameSocket {
public:
    struct Handlers {
        std::function<void(FrameKind kind, std::string_view payload)> frame;
        std::function<void(const std::string& why)> closed;  ///< last call; `why` is empty at an end of file
    };
    /// Frames that `frames` holds already are handled by the loop.
    FrameSocket(base::Loop& loop, std::shared_ptr<net::Stream> stream, std::shared_ptr<wire::Frames> frames,
                Handlers handlers);
    ~FrameSocket();
    FrameSocket(const FrameSocket&) = delete;
    FrameSocket& operator=(const FrameSocket&) = delete;

    void limit_payload(std::size_t bytes) { frames_->limit(bytes); }
    /// Replaces the handlers.
    void handle(Handlers handlers) { handlers_ = std::make_shared<Handlers>(std::move(handlers)); }
    /// Queues a frame of messages.hpp. The caller bounds the queue: see unsent().
    void send(std::string_view frame);
    [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }
    /// Time of the last bytes received.
    [[nodiscard]] base::Time heard_at() const { return heard_at_; }

private:
    void on_readable();
    void serve_all();
    [[nodiscard]] bool serve();
    void flush();
    void close(const std::string& why);

    base::Loop& loop_;
    std::shared_ptr<net::Stream> stream_;
    base::UniqueFd second_;               ///< a duplicate for the writer, as the loop allows one Watch a descriptor
    std::shared_ptr<Handlers> handlers_;  ///< shared: a handler may replace them
    std::shared_ptr<wire::Frames> frames_;
    std::string unsent_;
    std::size_t sent_ = 0;  ///< of unsent_
    base::Time heard_at_ = base::Clock::now();
    base::Watch readable_, writable_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dlaunch::launcher
