#pragma once
/// The agent's end of a rank's PMI socket: lines in, lines out. Nothing is read while a
/// reply is unsent, so a client cannot make the agent keep more than the replies to a few reads.

#include <functional>
#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class Pmi1Connection {
public:
    static constexpr std::size_t kMostLineBytes = 64UL << 10;  ///< a client's lines have up to 1024

    struct Observer {
        std::function<void(std::string_view)> on_line;  ///< without its end
        std::function<void()> on_endless;               ///< kMostLineBytes without an end; the connection is closed
    };

    /// `socket` is non-blocking. The loop must outlive this object. No callback may destroy it.
    Pmi1Connection(base::Loop& loop, base::UniqueFd socket, Observer observer);
    Pmi1Connection(const Pmi1Connection&) = delete;
    Pmi1Connection& operator=(const Pmi1Connection&) = delete;

    /// Adds the line's end. Without an effect when the connection is closed.
    void send(std::string_view line);
    /// Reads what the client has sent before it ended.
    void drain();
    void close();

private:
    void on_ready();
    [[nodiscard]] bool read_some();
    void split();
    void flush();
    void watch();

    base::Loop& loop_;
    base::UniqueFd socket_;
    const Observer observer_;
    base::Watch watch_;
    enum class Awaits : unsigned char { nothing, bytes, room } awaits_ = Awaits::nothing;
    std::string received_, unsent_;
};

}  // namespace dlaunch::agent
