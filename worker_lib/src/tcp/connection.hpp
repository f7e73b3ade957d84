#pragma once
/// One TCP connection that carries the transfers of collectives with one peer. A transfer is a head (slot, bytes) and
/// the bytes. The receiver reads a transfer into the oldest receive of its slot, and leaves the connection alone until
/// there is one: then TCP's window holds up the sender. Not thread-safe.
///
/// Numbers have this host's byte order, as signatures do.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker::tcp {

class Connection {
public:
    explicit Connection(base::UniqueFd socket) : socket_(std::move(socket)), staged_(kStage) {}

    struct Transfer {
        std::uint64_t slot;
        std::byte* data;    ///< only read by a send
        std::size_t bytes;  ///< of a receive: the most that fit
        int* completed;     ///< incremented at the end; also the transfer's owner for cancel()
    };
    void send(const Transfer& transfer) { sends_.push_back({transfer, {transfer.slot, transfer.bytes}, 0}); }
    void receive(const Transfer& transfer) { receives_.push_back(transfer); }
    /// Drops the transfers of an owner. One that is partly done leaves a connection that is of no more use.
    void cancel(const int* owner);

    /// Sends and receives what the socket takes and has without blocking.
    void progress() {
        if (!sends_.empty() && can_write_) write();
        if (!receives_.empty() && can_read_) read();
    }
    /// The socket has become ready (epoll, edge-triggered).
    void set_ready(bool reads, bool writes) {
        can_read_ = can_read_ || reads;
        can_write_ = can_write_ || writes;
    }
    /// The peer has left, and reads nothing more.
    void set_left() { ended_out_ = true; }
    /// Nothing more arrives, or can be sent: the peer or this rank has closed the connection, or it has failed.
    [[nodiscard]] bool ended_in() const { return ended_in_; }
    [[nodiscard]] bool ended_out() const { return ended_out_; }
    [[nodiscard]] int socket() const { return socket_.get(); }

private:
    /// Bytes that one system call may take beyond the current transfer: a short one comes with its head.
    static constexpr std::size_t kStage = 4096;
    static constexpr std::size_t kNone = SIZE_MAX;
    struct Head {
        std::uint64_t slot = 0, bytes = 0;
    };
    struct Send {
        Transfer transfer;
        Head head;
        std::size_t sent;  // head included
    };

    void write();
    void read();
    bool read_head();
    bool find_receive();
    std::size_t take(void* into, std::size_t bytes);
    void advance(std::size_t sent);

    base::UniqueFd socket_;
    std::deque<Send> sends_;
    std::vector<Transfer> receives_;
    bool can_read_ = true, can_write_ = true, ended_in_ = false, ended_out_ = false;

    std::vector<std::byte> staged_;  // received, from stage_begin_ to stage_end_ not yet used
    std::size_t stage_begin_ = 0, stage_end_ = 0;
    bool has_head_ = false;
    Head head_;
    std::size_t target_ = kNone;  // index of the receive that the transfer goes to
    std::size_t arrived_ = 0;
};

}  // namespace dlaunch::worker::tcp
