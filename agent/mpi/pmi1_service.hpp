#pragma once
/// PMI-1 for the workers of a round: a socket for each worker, behind them the node's Pmi1Server, and the round's store
/// where there are several nodes. The workers start when the ranks of all nodes are known.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/mpi/node_fence.hpp"
#include "agent/mpi/pmi1_connection.hpp"
#include "agent/mpi/pmi1_server.hpp"
#include "agent/mpi/published_names.hpp"
#include "agent/plan.hpp"
#include "agent/services/round_service.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Owned by the agent of a job with MPI programs.
class Pmi1Service final : public RoundService {
public:
    using Print = std::function<void(const std::string&)>;

    /// `print` prints a line for the user. `loop` and `plan` must outlive this object.
    Pmi1Service(base::Loop& loop, const Plan& plan, Print print);

    void control(RoundControl& control) override { control_ = &control; }
    void prepare(const Assignment& assignment) override;
    [[nodiscard]] bool is_ready() const override { return round_ && round_->server.has_value(); }
    void contribute(const Assignment& assignment, int local_rank, Contribution& to) override;
    void ended(WorkerExit& exit) override;
    void finish() override;

private:
    /// The state of a round; destroying it closes the sockets and drops pending callbacks.
    struct Round {
        Round(base::Loop& loop, const Assignment& round);

        Assignment assignment;
        NodeFence world;
        std::unique_ptr<NodeFence> fence;
        PublishedNames names;
        std::vector<std::unique_ptr<Pmi1Connection>> connections;  ///< by local rank
        std::optional<Pmi1Server> server;                          ///< none until the world is known
        base::Timer late_failure;
        bool performing = false;
    };

    void begin(const MpiWorld& world);
    void perform();
    void perform(const Pmi1Action& action);
    void enter_fence(const Pmi1Action& action);
    void use_name(const Pmi1Action& action);
    void lose_store(const base::Error& error);

    base::Loop& loop_;
    const Plan& plan_;
    const Print print_;
    RoundControl* control_ = nullptr;
    std::shared_ptr<Round> round_;        ///< shared with calls that may end the round
    std::unique_ptr<NodeFence> leaving_;  ///< of the last round: tells the other nodes that a rank is gone
};

}  // namespace dlaunch::agent
