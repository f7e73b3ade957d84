#pragma once
/// The front end's port for agents: accepts connections, and refuses those that are not of the job. A job with a token
/// admits clients whose handshake proves the token, an open job clients that send its key.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/start/frame_socket.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/coordinate/stranger_lines.hpp"
#include "rendezvous/net/stream.hpp"

namespace dlaunch::launcher {

class FrontDoor {
public:
    struct Admission {
        auth::TlsContextPtr tls;  ///< null: an open job
        std::string key;          ///< of an open job
    };
    struct Handlers {
        std::function<void(const NodeHello& hello, std::unique_ptr<FrameSocket> socket)> agent;
        std::function<void(const std::string& line)> refused;  ///< for the user, at most one a minute and address
    };
    /// The loop and the listeners must outlive this object.
    FrontDoor(base::Loop& loop, const std::vector<store::Listener>& listeners, Admission admission, Handlers handlers);
    FrontDoor(const FrontDoor&) = delete;
    FrontDoor& operator=(const FrontDoor&) = delete;

private:
    /// A connection before its hello.
    struct Stranger {
        std::shared_ptr<net::Stream> stream;
        std::string address;
        std::string first_bytes;  ///< of a client that may speak TLS
        bool shakes_hands = false;
        base::Watch readable;
        base::Timer deadline;
        std::unique_ptr<FrameSocket> socket;  ///< when the stream is open
    };

    void accept();
    void on_dial(const store::Listener& listener);
    void on_first_bytes(std::uint64_t number);
    void shake_hands(std::uint64_t number);
    void on_handshake(std::uint64_t number, const net::Stream::Received& received);
    void open(std::uint64_t number, std::string_view bytes);
    void on_hello(std::uint64_t number, FrameKind kind, std::string_view payload);
    Stranger take(std::uint64_t number);
    void next_handshakes();

    base::Loop& loop_;
    const std::vector<store::Listener>& listeners_;
    const Admission admission_;
    const Handlers handlers_;
    std::vector<base::Watch> dials_;  ///< none while there are too many strangers
    std::map<std::uint64_t, Stranger> strangers_;
    std::uint64_t next_stranger_ = 0;
    std::size_t handshakes_ = 0;
    bool is_starting_ = false;           ///< next_handshakes() runs
    std::deque<std::uint64_t> waiting_;  ///< for a handshake; may have left
    rendezvous::StrangerLines lines_;
};

}  // namespace dlaunch::launcher
