#pragma once
/// The job of one node: its rounds need nobody else.

#include <memory>

#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/rounds/restarts.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace dlaunch::agent {

class SoloMembership : public Membership {
public:
    /// Chooses MASTER_ADDR and MASTER_PORT and listens there. An Error when a port that was asked for is in use.
    [[nodiscard]] static base::Result<std::unique_ptr<SoloMembership>> make(base::Loop& loop, const Plan& plan);

    void join(Orders orders) override;
    void failed(const Failure&) override;
    void round_over(const RoundEnd& end) override;
    void leave(int status, const std::string& reason, bool workers_too) override;

private:
    SoloMembership(base::Loop& loop, const Plan& plan);

    void start_round(std::string reason);
    void end_job(JobVerdict verdict);
    void restart_or_end(const RoundEnd& end);

    base::Loop& loop_;
    Assignment next_;
    rendezvous::Restarts restarts_;
    Orders orders_;
    void serve_store();

    /// The worker store of the running round: empty at its start. A job whose workers never connect pays for none.
    store::Listener listener_;
    base::Watch first_client_;
    std::unique_ptr<store::ThreadedServer> store_;
    base::Timer pause_;
    bool round_runs_ = false;
    bool failure_ends_job_ = false;
    std::optional<JobVerdict> leaving_;
};

}  // namespace dlaunch::agent
