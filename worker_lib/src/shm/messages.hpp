#pragma once
/// Messages between ranks on one host: a ring for each ordered pair, and whoever waits moves bytes for all.
///
/// A sender writes envelope and bytes into its ring as there is room; its call is done when all are in. A receiver
/// takes them out, straight into the buffer of the first receive that fits by source and tag. A message that fits none
/// stays in the ring until one is asked for that lies behind it; then it is taken into memory of ours, so that the
/// order of tags is the receiver's to choose.
///
/// Whoever waits for a message carries everything on that can go on; calls that nobody waits for are carried on by a
/// thread that is started for the first of them.

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "worker_lib/src/shm/exchange.hpp"
#include "worker_lib/src/shm/pipe.hpp"

namespace dlaunch::worker::shm {

class Messages : public std::enable_shared_from_this<Messages> {
public:
    Messages(std::shared_ptr<Segment> segment, std::shared_ptr<Exchange> exchange, Place place);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    std::shared_ptr<WorkState> post(const Transfer& transfer);
    /// Ends what is pending and all that comes.
    void abort(const Error& why);
    /// The same, and the helping thread ends.
    void close();

private:
    struct Pending;
    using Call = std::shared_ptr<Pending>;
    /// A message that came before anybody asked for it.
    struct Early {
        int source;
        Envelope envelope;
        std::vector<std::byte> bytes;
        std::size_t arrived = 0;
    };
    /// What is being read from one rank, and written to it.
    struct Peer {
        Pipe in, out;
        bool opened = false;  // an envelope has been read, and its message not to its end
        Envelope envelope;
        std::size_t arrived = 0;
        Call receiver;           // where the bytes go
        Early* early = nullptr;  // or here; neither: nobody has asked yet
        bool discards = false;   // or nowhere
        std::deque<Call> sends;
        bool ended = false;   // when it was last looked: nothing more will come into its ring
        bool drains = false;  // what it discards counts as pending: its sender must not wait for our next call
    };

    void end_all(const Error& why);
    bool move();
    bool push(int rank);
    bool pull(int rank);
    bool open(int rank);
    void finish_early();
    bool deliver(const Call& call, Early& early);
    void end_message(int rank);
    void discard(Peer& peer);
    void end_drain(Peer& peer);
    void carry_on();
    void note_who_ended();
    void expire();
    void wait(Pending* call, Time deadline);
    void help();
    void ring(int rank);
    [[nodiscard]] bool accepts(const Call& call, int source, const Envelope& envelope) const;
    [[nodiscard]] bool fits(const Call& call, int source, const Envelope& envelope);
    [[nodiscard]] Error::Where where(const Pending& call) const;
    void fail(const Call& call, const Error& error);

    const std::shared_ptr<Segment> segment_;
    const std::shared_ptr<Exchange> exchange_;
    const Place place_;
    Control& own_;
    std::mutex mutex_;
    std::vector<Peer> peers_;
    std::list<Call> receives_;  // in the order of the calls
    std::list<Early> earlies_;  // in the order of arrival
    std::size_t pending_ = 0;
    std::unique_ptr<Error> ended_;
    std::condition_variable work_to_do_;
    std::thread helper_;
    bool closing_ = false;
};

}  // namespace dlaunch::worker::shm
