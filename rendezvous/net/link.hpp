#pragma once
/// A member's TCP connection to the coordinator: dials, and sends and receives frames.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/background.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/net/coordinator_link.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {

class MemberLink : public CoordinatorLink {
public:
    /// Dials the endpoints in turn. When all have failed, looks their names up again in the background. With `tls`
    /// every connection is inside TLS.
    MemberLink(base::Loop& loop, const std::vector<ResolvedEndpoint>& places, Observer observer,
               auth::TlsContextPtr tls = nullptr);
    ~MemberLink() override;
    MemberLink(const MemberLink&) = delete;
    MemberLink& operator=(const MemberLink&) = delete;

    void connect() override;
    void disconnect() override;
    void retarget(const std::vector<ResolvedEndpoint>& places) override;
    void set_standbys(const std::vector<ResolvedEndpoint>& standbys) override;
    [[nodiscard]] ResolvedEndpoint place() const override { return targets_[current_].place; }
    void send(const Message& message) override;
    [[nodiscard]] int socket() const override { return stream_ ? stream_->fd() : -1; }

private:
    struct Target {
        ResolvedEndpoint place;
        base::Background look_up;
        bool stale = false;     ///< the name must be looked up again
        bool hopeless = false;  ///< the latest dial found a closed port or another service
        std::string problem;    ///< of the latest dial, "node1:29400: Connection refused"
    };

    void forget_addresses();
    void try_another();
    void look_up(std::size_t which);
    void take_addresses(std::size_t which, const std::vector<std::string>& found);
    void dial();
    void fail(int error);
    void fail(bool refused, const std::string& why);
    void fail_as_foreign_service(const std::string& how);
    void fail_handshake(int error);
    void on_connected();
    void on_readable();
    void take_messages();
    void flush();
    void await_room();
    void drop();
    /// Whether the latest dial of every endpoint found a closed port or another service: only this proves that no
    /// coordinator listens.
    [[nodiscard]] bool all_hopeless() const;
    [[nodiscard]] std::string note_problem(const std::string& why);

    base::Loop& loop_;
    std::vector<Target> targets_;
    std::size_t next_ = 0, current_ = 0;
    bool cycle_failed_ = false;  ///< every endpoint has been tried since the names were looked up
    Observer observer_;
    const auth::TlsContextPtr tls_;
    bool has_been_open_ = false;  ///< a coordinator with the job's token has answered once
    std::optional<net::Stream> stream_;
    base::UniqueFd second_;  ///< a duplicate, while the socket's send buffer is full
    base::Watch readable_, writable_;
    std::unique_ptr<wire::FrameReader> reader_;
    std::string unsent_;
    std::string first_bytes_;   ///< of this connection, to describe another service
    bool got_message_ = false;  ///< this connection has received a whole message
    int silent_closes_ = 0;     ///< connections in a row that the peer closed without sending a byte
    std::uint64_t life_ = 0;    ///< counts connections: a callback may have replaced its connection
};

}  // namespace dlaunch::rendezvous
