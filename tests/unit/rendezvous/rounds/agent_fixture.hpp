#pragma once
/// An agent or a coordinator on the wire, as a test plays it: messages over a blocking socket.

#include <memory>
#include <utility>

#include "rendezvous/wire/rounds.hpp"
#include "tests/unit/rendezvous/peer_fixture.hpp"

namespace dlaunch::rendezvous {

class Speaker {
public:
    explicit Speaker(Peer peer) : peer_(std::move(peer)) {}

    void say(const Message& message) { peer_.say(wire::encode(message)); }

    /// The next message; it must be a Said.
    template <class Said>
    Said hear() {
        using Outcome = wire::FrameReader::Outcome;
        Message message;
        for (;;) {
            const Outcome outcome = reader_->next(message);
            if (outcome == Outcome::message) break;
            const std::string byte = outcome == Outcome::more ? peer_.hear(1) : std::string();
            if (byte.empty()) {
                ADD_FAILURE() << (outcome == Outcome::more ? "nothing more came" : "that is no message");
                return {};
            }
            reader_->feed(byte);
        }
        const auto* said = std::get_if<Said>(&message);
        EXPECT_TRUE(said) << "message number " << message.index();
        return said ? *said : Said{};
    }
    Peer& peer() { return peer_; }

private:
    Peer peer_;
    std::unique_ptr<wire::FrameReader> reader_ = std::make_unique<wire::FrameReader>();
};

}  // namespace dlaunch::rendezvous
