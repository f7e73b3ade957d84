#pragma once
/// PMIx for the workers of a round: the node's PMIx server (pmix_server.hpp) and, with several nodes, the exchange of
/// data with ranks of other nodes over the round's store. The workers start when the server is ready.
///
/// Fences: the library collects the bytes of the node's ranks, and gets those of all nodes that take part. Each fence
/// has keys of its own in the store.
///
/// Data of single ranks (direct modex): a node that asks for the first time sets a key, for which all nodes wait. Then
/// every node stores the data of its ranks, as soon as these have published them.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/mpi/mpi_callbacks.hpp"
#include "agent/mpi/node_fence.hpp"
#include "agent/mpi/open_mpi.hpp"
#include "agent/mpi/pmix_book.hpp"
#include "agent/mpi/pmix_job.hpp"
#include "agent/mpi/pmix_process.hpp"
#include "agent/mpi/published_names.hpp"
#include "agent/plan.hpp"
#include "agent/process/children.hpp"
#include "agent/services/round_service.hpp"
#include "agent/services/store_client.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the agent of a job with Open MPI's programs. The arguments must outlive it.
class PmixService final : public RoundService {
public:
    PmixService(base::Loop& loop, const Plan& plan, Children& children, MpiCallbacks callbacks);

    void control(RoundControl& control) override { control_ = &control; }
    void prepare(const Assignment& assignment) override;
    [[nodiscard]] bool is_ready() const override { return round_ && round_->ready; }
    void contribute(const Assignment& assignment, int local_rank, Contribution& to) override;
    void ended(WorkerExit& exit) override;
    /// Ends the server, and removes its files and those of killed ranks in the background.
    void cleared() override;

    void when_clean(std::function<void()> done) override;

private:
    /// The state of a round; destroying it kills the server and drops pending callbacks.
    struct Round {
        Round(base::Loop& loop, const Assignment& round);

        Assignment assignment;
        PmixJob job;
        NodeFence world;
        PmixBook book;
        OpenMpiPlace place;
        std::unique_ptr<PmixProcess> process;
        std::vector<Variables> variables;  ///< by local rank
        PublishedNames names;
        std::unique_ptr<StoreClient> store;  ///< for calls that do not wait for other nodes
        std::list<StoreClient> waiting;      ///< one for each call that does
        bool ready = false;
        bool asks = false;           ///< this node has asked for data of ranks of other nodes
        bool announced = false;      ///< that a rank has begun MPI
        bool awaits_others = false;  ///< a rank has ended without MPI
        base::Timer late_failure;    ///< for want of a rank of another node
        int ending = -1;             ///< the local rank whose exit is being judged
    };

    using Found = std::function<void(const StoreClient::Values&)>;

    void begin(const MpiWorld& world);
    void on_message(const PmixMessage& message);
    void on_server_end(const std::string& how);
    void on_variables(const PmixMessage& message);
    void on_ready(const std::string& memory);
    void on_connected(int local_rank);
    void on_aborted(int local_rank, int code);
    void enter_fence(const PmixMessage& message);
    void find_data(const PmixMessage& message);
    void store_data(const PmixMessage& message);
    void await_questions();
    void use_name(const PmixMessage& message);
    void announce();
    void await_others(int local_rank);
    void await_gone(int local_rank);
    void fail(int local_rank, const Verdict& verdict);
    void lose_store(const base::Error& error);
    [[nodiscard]] bool alone() const { return round_->assignment.group_world_size == 1; }
    [[nodiscard]] std::string key(const std::string& name) const;
    void set(const std::string& name, std::string_view value);
    void await(const StoreClient::Values& keys, Found found);
    void exchange(const std::string& own_key, std::string_view value, const StoreClient::Values& keys, Found found);
    [[nodiscard]] StoreClient::Done waiting(Found found);

    base::Loop& loop_;
    const Plan& plan_;
    Children& children_;
    const MpiCallbacks callbacks_;
    RoundControl* control_ = nullptr;
    std::shared_ptr<Round> round_;
    std::unique_ptr<StoreClient> leaving_;  ///< of a round whose ranks have ended here
    base::Background removing_;
    std::function<void()> clean_;
};

}  // namespace dlaunch::agent
