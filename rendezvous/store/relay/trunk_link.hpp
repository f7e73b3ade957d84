#pragma once
/// The relay's end of a trunk: dials the round's store, and sends and receives frames. Runs on the caller's loop.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/wire/frames.hpp"
#include "rendezvous/wire/trunk.hpp"

namespace dlaunch::store {

/// The store at the other end.
struct TrunkTarget {
    std::string host;  ///< a name or an address
    int port = 0;
    std::string key;            ///< wire::trunk_key()
    auth::TlsContextPtr tls;    ///< null: plain
    base::Duration patience{};  ///< time for dialing: the store's node may begin the round later than this one
};

class TrunkLink {
public:
    /// Called from the loop. A callback may use the link, but not destroy it.
    struct Observer {
        std::function<void()> opened;
        std::function<bool(const wire::TrunkFrame&)> received;  ///< false: the trunk is closed, `lost` follows
        std::function<void()> drained;                          ///< all bytes are sent
        /// The open trunk has ended, or no dial has succeeded within the patience: `problem` is the reason of the
        /// latest one then, else empty.
        std::function<void(const std::string& problem)> lost;
    };

    TrunkLink(base::Loop& loop, TrunkTarget target, Observer observer);
    TrunkLink(const TrunkLink&) = delete;
    TrunkLink& operator=(const TrunkLink&) = delete;

    /// Dials, unless the trunk is open or being opened.
    void open();
    [[nodiscard]] bool is_open() const { return is_open_; }
    /// Only while the trunk is open.
    void send(std::string frames);
    [[nodiscard]] std::size_t unsent() const { return unsent_.size() - sent_; }

private:
    void attempt();
    void dial(const std::string& address);
    void on_connected();
    void on_readable();
    void begin();
    void flush();
    void take_frames(std::string_view bytes);
    void drop();
    void fail(const std::string& why);
    void end();

    base::Loop& loop_;
    const TrunkTarget target_;
    const Observer observer_;
    base::Background look_up_;
    std::optional<net::Stream> stream_;
    base::UniqueFd second_;
    base::Watch readable_, writable_;
    base::Timer again_, limit_;
    base::Duration pause_{};
    base::Time patience_ends_{};
    std::optional<wire::Frames> frames_;
    std::string unsent_;
    std::size_t sent_ = 0;  ///< of unsent_
    bool is_open_ = false, is_opening_ = false;
};

}  // namespace dlaunch::store
