#pragma once
/// A job of several nodes, as its nodes see it: speaks to the coordinator, hosts it where that is this node's part, and
/// serves the worker store while this node is group rank 0. Decides nothing: rendezvous/rounds/member.hpp does.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/membership/hosting.hpp"
#include "agent/membership/membership.hpp"
#include "agent/membership/worker_store.hpp"
#include "agent/plan.hpp"
#include "agent/process/guard.hpp"
#include "rendezvous/base/aside.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/net/coordinator_link.hpp"
#include "rendezvous/rounds/member.hpp"

namespace dlaunch::agent {

class NetMembership : public Membership {
public:
    /// The loop must outlive it, and runs nothing of it after its end. `guard` ends the workers when this process is
    /// frozen for so long that the job counts on their end.
    /// `host` starts the coordinator where this node is its place.
    NetMembership(base::Loop& loop, const Plan& plan, std::string host_name, GuardLink& guard, HostCoordinator host);
    ~NetMembership() override;

    void join(Orders orders) override;
    void failed(const Failure& failure) override;
    void round_over(const RoundEnd& end) override;
    void leave(int status, const std::string& reason, bool workers_too) override;
    void hurry() override;

private:
    void begin_alone();
    void find_coordinator();
    void still_finding(int waited_s);
    void come_in(base::Result<rendezvous::Found> found);
    [[nodiscard]] base::Result<void> open_ports(rendezvous::Found& found);
    void make_member(const rendezvous::Found& found);
    [[nodiscard]] base::Result<void> host_coordinator(rendezvous::Found& found);
    void lost_sight();
    void locate_again();
    void located_again(base::Result<rendezvous::Found> found);
    void watch_claim();
    void end_before_it_began(int status, std::string reason);
    void die();
    void perform(rendezvous::Member::Action& action);
    /// All changes of the member go through here: its guard's doings come first, its actions last.
    template <class Change>
    void change(Change change) {
        const base::Time now = base::Clock::now();
        heed_guard(now);
        change(now);
        act();
    }
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
    const std::string host_name_;
    GuardLink& guard_;
    const bool alone_;  ///< a job of one node: the coordinator is in memory
    Orders orders_;
    std::shared_ptr<rendezvous::Discovery> discovery_;  ///< a thread that hangs holds it too
    base::Aside finding_, watching_;
    base::Timer finding_timer_, again_timer_, watch_timer_;
    std::string problem_;  ///< with the names that are looked up
    std::optional<rendezvous::Member> member_;
    std::unique_ptr<rendezvous::CoordinatorLink> link_;
    HostCoordinator host_;
    std::vector<rendezvous::Place> places_;  ///< of the coordinator, as the link tries them
    bool hosts_ = false;                     ///< its process is on this node
    int coordinator_port_ = 0;               ///< where this node hosts it
    bool answered_ = false;                  ///< the connection's coordinator has welcomed this node
    bool is_standby_ = true;                 ///< watches the coordinator's claim
    bool name_is_loopback_ = false;          ///< the endpoint's, on this node alone
    std::string advertised_, bind_to_;       ///< this node's address for the others, and the same as a number
    WorkerStore store_;
    base::Timer timer_;
    rendezvous::Time timer_due_ = rendezvous::kNever;
    bool acting_ = false;
    bool own_failure_ = false;  ///< in the running round
    std::string own_reason_;    ///< why this node leaves
    std::string own_leave_;     ///< how the job's other nodes are told of it; empty: this node stays
    std::optional<JobVerdict> dying_;
    bool over_ = false;  ///< the last order is on its way
    bool round_runs_ = false;
    bool by_guard_ = false;  ///< not we but the guard has ended the running round
};

}  // namespace dlaunch::agent
