#pragma once
/// The coordinator on the network: a store server that passes extension messages to the state machine, and a timer. If
/// the job has one port for everything, this store is the workers' store, too, and is emptied before each round.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/deadline.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/coordinate/stranger_lines.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::rendezvous {

class CoordinatorHost {
public:
    /// Keeps a snapshot for a successor; called before any message that follows from the snapshot is sent.
    using OnRecord = std::function<void(const Snapshot&)>;

    /// Prints a line for the user of this node.
    using Print = std::function<void(const std::string& line)>;

    /// Serves at a listening socket. Errors as of Server::adopt. `tls`: of a job with a token.
    static base::Result<std::unique_ptr<CoordinatorHost>> adopt(base::Loop& loop, base::UniqueFd listener,
                                                                Coordinator::Options options, OnRecord on_record = {},
                                                                auth::TlsContextPtr tls = nullptr, Print print = {});
    CoordinatorHost(const CoordinatorHost&) = delete;
    CoordinatorHost& operator=(const CoordinatorHost&) = delete;

    /// Serves at one more listening socket.
    base::Result<void> listen_too(base::UniqueFd listener) { return server_->listen_too(std::move(listener)); }

    [[nodiscard]] const store::Server& server() const { return *server_; }
    [[nodiscard]] const Coordinator& coordinator() const { return coordinator_; }

    /// As Coordinator's functions.
    void granted(Time until);
    void resign();
    void end_job(int status, const std::string& reason, bool at_once);
    void no_more_hosts();

    /// Calls back when the job is over and every node has received the verdict; at once if that is so now.
    void when_finished(std::function<void()> callback);

private:
    CoordinatorHost(base::Loop& loop, Coordinator::Options options, OnRecord on_record, Print print);

    [[nodiscard]] std::string on_stranger(const std::string& address, store::Stranger kind);
    void on_trailing(base::ConnectionId peer, std::string_view bytes);
    void on_message(base::ConnectionId peer, std::uint8_t number, std::string_view payload);
    void act();
    void renew_worker_store();

    base::Loop& loop_;
    const std::optional<int> worker_port_;  ///< of the worker store, if the job fixes it
    const bool relays_store_;               ///< that store takes relays only
    const std::string version_, job_id_;    ///< with the round, the key of the relays
    OnRecord on_record_;
    Print print_;
    StrangerLines stranger_lines_;
    std::unordered_map<base::ConnectionId, GoodbyeHashes> goodbyes_;  ///< of members inside TLS
    Coordinator coordinator_;
    int round_ = -1;  ///< the round that the store was emptied for
    std::unique_ptr<store::Server> server_;
    base::Deadline deadline_{loop_};
    std::function<void()> when_finished_;
};

}  // namespace dlaunch::rendezvous
