#pragma once
/// Which receive gets which message. A message goes to the first posted receive that matches its source and tag, and
/// messages of one source are matched in their order, as in MPI (MPI 4.0, 3.5).
///
/// An unmatched message stays in the transport, which slows its sender down, until a receive is posted for a message
/// behind it. Then it is held in memory of its own, and the receiver may choose the order of tags.
///
/// No I/O and no locks: the transport reads the bytes and serializes the calls.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker {

/// The header of each message.
struct Envelope {
    std::uint64_t bytes = 0;
    std::int32_t tag = 0;
    ElementType type = DType::uint8;
    [[nodiscard]] std::size_t count() const { return bytes / size_of(type); }
};
static_assert(sizeof(Envelope) == 16);

/// One send or receive of the program.
struct MessageCall : WorkState {
    explicit MessageCall(const Transfer& what) : transfer(what) {}
    const Transfer transfer;
    [[nodiscard]] std::size_t bytes() const { return transfer.count * size_of(transfer.type); }
    [[nodiscard]] std::span<std::byte> data() const { return {static_cast<std::byte*>(transfer.data), bytes()}; }
    [[nodiscard]] Envelope envelope() const { return {bytes(), transfer.tag, transfer.type}; }
    void fail(const Error& error) { finish(std::make_exception_ptr(error)); }
};

[[nodiscard]] Error::Where where(const Transfer& transfer, const GroupInfo& group);
/// The Error of a call that is pending at its deadline.
[[nodiscard]] Error overdue(const Transfer& transfer, const GroupInfo& group, Time now);

/// A message on its way in.
struct Incoming {
    enum class Fate {
        undecided,  ///< there is no receive for it, nor for a message behind it
        received,   ///< by `receive`
        held,       ///< in `memory`, as a receive waits for a message behind it
        discarded,  ///< its receive has failed
    };
    Envelope envelope;
    std::size_t head = 0, body = 0;  ///< bytes of envelope and payload that have arrived; counted by the transport
    Fate fate = Fate::undecided;
    std::shared_ptr<MessageCall> receive{};
    std::vector<std::byte> memory{};

    [[nodiscard]] bool is_whole() const { return body == envelope.bytes; }
    /// Where the payload goes; empty: nowhere.
    [[nodiscard]] std::span<std::byte> place() {
        return receive ? receive->data().first(envelope.bytes) : std::span(memory);
    }
    /// The receive has failed; the rest of the message is to be skipped.
    void discard() {
        receive.reset();
        fate = Fate::discarded;
    }
};

class MessageMatcher {
public:
    using Receive = std::shared_ptr<MessageCall>;
    using Verdict = std::function<std::optional<Error>(const Transfer&)>;

    explicit MessageMatcher(GroupInfo group) : group_(std::move(group)) {}

    /// Finishes the receive if its message is held already.
    void post(const Receive& receive);
    /// Decides the fate of a message from `source` once its envelope has arrived. A receive of another type or count
    /// fails (mismatch), and the message is discarded. Throws Error (backend) if there is no memory to hold it.
    void decide(int source, Incoming& message);
    /// The message has arrived wholly: finishes its receive, or holds it. `message` is then ready for the next one.
    void arrived(int source, Incoming& message);
    /// False: it has a message already, or was never posted.
    bool withdraw(const MessageCall& receive);
    /// Fails the receives without a message for which `why` has an Error.
    void fail(const Verdict& why);

    [[nodiscard]] bool has_receives() const { return !receives_.empty(); }
    [[nodiscard]] const std::deque<Receive>& receives() const { return receives_; }

private:
    struct Held {
        int source;
        Envelope envelope;
        std::vector<std::byte> payload;
    };
    [[nodiscard]] std::deque<Receive>::iterator first_for(int source, const Envelope& envelope);
    [[nodiscard]] bool fits(MessageCall& receive, int source, const Envelope& envelope) const;
    void deliver(MessageCall& receive, const Held& message) const;

    const GroupInfo group_;
    std::deque<Receive> receives_;  // in the order of posting
    std::deque<Held> held_;         // in the order of arrival; none matches a receive in receives_
};

}  // namespace dlaunch::worker
