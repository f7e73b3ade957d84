#pragma once
/// A job of several nodes, as its nodes see it: speaks to the coordinator, hosts it where that is this node's part, and
/// serves the worker store while this node is group rank 0. Decides nothing: rendezvous/rounds/member.hpp does.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/group/membership.hpp"
#include "agent/plan.hpp"
#include "agent/process/guard.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/rounds/host.hpp"
#include "rendezvous/rounds/link.hpp"
#include "rendezvous/rounds/member.hpp"
#include "rendezvous/store/listener.hpp"
#include "rendezvous/store/threaded_server.hpp"

namespace dlaunch::agent {

class NetMembership : public Membership {
public:
    /// Opens the ports; may look names up. The loop must outlive it, and runs nothing of it after its end. `guard` ends
    /// the workers when this process is frozen for so long that the job counts on their end.
    [[nodiscard]] static base::Result<std::unique_ptr<NetMembership>> make(base::Loop& loop, const Plan& plan,
                                                                           const std::string& host_name,
                                                                           GuardLink& guard);
    ~NetMembership() override;

    void join(Orders orders) override;
    void failed(const Failure& failure) override;
    void round_over(const RoundEnd& end) override;
    void leave(int status, const std::string& reason) override;

private:
    struct Place;  ///< where the coordinator is and what this node is to it

    NetMembership(base::Loop& loop, const Plan& plan, GuardLink& guard);

    [[nodiscard]] static base::Result<Place> find_place(const RendezvousPlan& plan, const std::string& host_name);
    [[nodiscard]] base::Result<void> host_coordinator(const Place& place, const std::string& host_name);
    void perform(rendezvous::Member::Action& action);
    template <class Change>
    void change(Change change);
    void act();
    void heed_guard(base::Time now);
    void renew_lease();
    void set_timer();
    void start(const rendezvous::Assigned& assigned);
    [[nodiscard]] bool serve_store(const rendezvous::Assigned& assigned);
    void end(const rendezvous::Member::EndJob& how);
    void order(std::function<void()> call) { loop_.post(std::move(call)); }

    base::Loop& loop_;
    const Plan& plan_;
    GuardLink& guard_;
    Orders orders_;
    rendezvous::Member::Options member_options_;
    std::optional<rendezvous::Member> member_;
    std::unique_ptr<rendezvous::MemberLink> link_;
    std::unique_ptr<rendezvous::CoordinatorHost> host_;
    store::Listener store_listener_;
    std::unique_ptr<store::ThreadedServer> store_;
    base::Timer timer_;
    rendezvous::Time timer_due_ = rendezvous::kNever;
    bool acting_ = false;
    bool own_failure_ = false;  ///< in the running round
    std::optional<JobVerdict> dying_;
    bool round_runs_ = false;
    bool by_guard_ = false;  ///< not we but the guard has ended the running round
};

}  // namespace dlaunch::agent
