#pragma once
/// The coordinator on the network: a store server whose extension messages go to the state machine, and its clock.
/// Where the user gave the job one port for everything, this store is the workers' too, and empty in each round.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::rendezvous {

class CoordinatorHost {
public:
    /// Keeps a snapshot for a successor; called before any member receives what follows from it.
    using OnRecord = std::function<void(const Snapshot&)>;

    /// Serves at a socket that listens already. Error as Server::adopt's.
    static base::Result<std::unique_ptr<CoordinatorHost>> adopt(base::Loop& loop, base::UniqueFd listener,
                                                                Coordinator::Options options, OnRecord on_record = {});
    CoordinatorHost(const CoordinatorHost&) = delete;
    CoordinatorHost& operator=(const CoordinatorHost&) = delete;

    /// At one more address.
    base::Result<void> listen_too(base::UniqueFd listener) { return server_->listen_too(std::move(listener)); }

    [[nodiscard]] const store::Server& server() const { return *server_; }
    [[nodiscard]] const Coordinator& coordinator() const { return coordinator_; }

    /// As Coordinator's.
    void granted(Time until);
    void resign();
    void end_job(int status, const std::string& reason, bool at_once);

    /// The process may end when this has been called: the job is over and everybody knows. At once if that is so now.
    void when_finished(std::function<void()> callback);

private:
    CoordinatorHost(base::Loop& loop, Coordinator::Options options, OnRecord on_record);

    void on_message(base::ConnectionId peer, std::uint8_t number, std::string_view payload);
    void act();
    void empty_worker_store();

    base::Loop& loop_;
    const std::optional<int> worker_port_;  ///< of every round's worker store, where it is fixed
    OnRecord on_record_;
    Coordinator coordinator_;
    int round_ = -1;  ///< the one that the store was emptied for
    std::unique_ptr<store::Server> server_;
    base::Timer timer_;
    Time timer_due_ = kNever;
    std::function<void()> when_finished_;
};

}  // namespace dlaunch::rendezvous
