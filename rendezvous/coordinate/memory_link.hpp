#pragma once
/// The coordinator of a job of one node, in the memory of its only member: the same state machines as over TCP, no
/// socket.

#include "rendezvous/base/deadline.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/net/coordinator_link.hpp"
#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {

class MemoryLink : public CoordinatorLink {
public:
    /// Node time-out of a job in memory. The link cannot be cut, so no lease ends and no beat is due.
    static constexpr Milliseconds kNeverSilent = std::chrono::days(20);

    /// The loop must outlive the link.
    MemoryLink(base::Loop& loop, Coordinator::Options options, Observer observer);

    void connect() override;
    void disconnect() override;
    void retarget(const std::vector<ResolvedEndpoint>&) override {}
    void set_standbys(const std::vector<ResolvedEndpoint>&) override {}
    [[nodiscard]] ResolvedEndpoint place() const override { return {}; }
    void send(const Message& message) override;
    [[nodiscard]] int socket() const override { return -1; }

private:
    void act();
    void set_timer();

    base::Loop& loop_;
    Observer observer_;
    Coordinator coordinator_;
    ConnectionId connection_ = 0;  ///< the open one; 0: none
    ConnectionId connections_ = 0;
    bool acting_ = false;
    base::Deadline deadline_{loop_};
};

}  // namespace dlaunch::rendezvous
