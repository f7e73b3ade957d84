#pragma once
/// A test's end of a connection as an agent or a coordinator: messages over a blocking socket.

#include <memory>
#include <utility>

#include "rendezvous/wire/rounds.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::rendezvous {

class MessagePeer {
public:
    explicit MessagePeer(Peer peer) : peer_(std::move(peer)) {}

    void send(const Message& message) { peer_.send(wire::encode(message)); }

    /// The next message, which must be of type Expected.
    template <class Expected>
    Expected receive() {
        using Outcome = wire::FrameReader::Outcome;
        Message message;
        for (;;) {
            const Outcome outcome = reader_->next(message);
            if (outcome == Outcome::message) break;
            const std::string byte = outcome == Outcome::more ? peer_.receive(1) : std::string();
            if (byte.empty()) {
                ADD_FAILURE() << (outcome == Outcome::more ? "the peer closed the connection"
                                                           : "the bytes are not a message");
                return {};
            }
            reader_->feed(byte);
        }
        const auto* received = std::get_if<Expected>(&message);
        EXPECT_TRUE(received) << "message number " << message.index();
        return received ? *received : Expected{};
    }
    Peer& peer() { return peer_; }

private:
    Peer peer_;
    std::unique_ptr<wire::FrameReader> reader_ = std::make_unique<wire::FrameReader>();
};

}  // namespace dlaunch::rendezvous
