#pragma once
/// One node's membership of a job: finds the coordinator or starts it, connects to it, and decides where
/// this node serves the worker store while it is group rank 0. rendezvous/rounds/member.hpp makes all decisions.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/membership/hosting.hpp"
#include "agent/membership/membership.hpp"
#include "agent/plan.hpp"
#include "agent/process/guard.hpp"
#include "agent/services/worker_store.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/deadline.hpp"
#include "rendezvous/base/end_signals.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/reserved_port.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/net/coordinator_link.hpp"
#include "rendezvous/rounds/ask_pauses.hpp"
#include "rendezvous/rounds/member.hpp"

namespace dlaunch::agent {

class JobMembership : public Membership {
public:
    /// All references must outlive this object. `guard` kills the workers if this process freezes until its lease runs
    /// out. `host` starts the coordinator on this node.
    JobMembership(base::Loop& loop, const Plan& plan, std::string host_name, GuardLink& guard, WorkerStore& store,
                  HostCoordinator host);
    ~JobMembership() override;

    void join(Orders orders) override;
    void failed(const Failure& failure, Strength strength = Strength::crash) override;
    void round_over(const RoundResult& end) override;
    void leave(LeaveReason why, int status, const std::string& text, bool workers_too = false) override;
    void leave_at_once() override;

private:
    void begin_alone();
    void look_up(const std::string& name, std::function<void(const std::string&)> then);
    using OnDiscovery = void (JobMembership::*)(base::Result<rendezvous::DiscoveryResult>);
    void find_coordinator(OnDiscovery then);
    /// The line of a signal that ends the job: once for all hosts.
    [[nodiscard]] bool front_end_prints(int signal) const { return plan_.has_front_end && base::asks_to_end(signal); }
    /// A line about this node, not about the job.
    void print_own(const std::string& text) { print(plan_.with_host(text)); }
    void still_finding(int waited_s);
    void on_found(base::Result<rendezvous::DiscoveryResult> found);
    void decide_again_later();
    void on_decided(base::Result<rendezvous::DiscoveryResult> found);
    void begin_member(rendezvous::DiscoveryResult found);
    [[nodiscard]] base::Result<void> open_ports(rendezvous::DiscoveryResult& found);
    void make_member(const rendezvous::DiscoveryResult& found);
    void make_link();
    [[nodiscard]] base::Result<void> host_coordinator(rendezvous::DiscoveryResult& found);
    void locate_later();
    void locate_again();
    void on_located(base::Result<rendezvous::DiscoveryResult> found);
    void watch_claim();
    void name_standbys(const rendezvous::Member::NameStandbys& named);
    void end_before_joining(int status, std::string reason);
    void succeeded(const RoundResult& end);
    void die();
    [[nodiscard]] bool end_if_recorded();
    void perform(rendezvous::Member::Action& action);
    /// All calls to the member go through here: checks the guard's fence first, performs the member's actions last.
    template <class Change>
    void change(Change change) {
        const base::Time now = base::Clock::now();
        check_fence(now);
        change(now);
        act();
    }
    void act();
    void check_fence(base::Time now);
    void renew_lease();
    void set_timer();
    void start(const rendezvous::Assigned& assigned);
    [[nodiscard]] StoreDuty store_duty(const rendezvous::Assigned& assigned) const;
    void end(const rendezvous::Member::EndJob& how);
    void order(std::function<void()> call) { loop_.post(std::move(call)); }
    void print(const std::string& text) { orders_.print(text, {}, {}); }
    void speak(bool on);
    [[nodiscard]] bool is_first_left(const rendezvous::LostRanks& lost) const;
    void explain(const rendezvous::Member::StopWorkers& stop) const;
    void give_reason(const rendezvous::Member::StopWorkers& stop);

    base::Loop& loop_;
    const Plan& plan_;
    const std::string host_name_;
    GuardLink& guard_;
    const bool alone_;  ///< a job of one node, with its coordinator in memory
    Orders orders_;
    auth::TlsContextPtr tls_;                           ///< null: a job without a token, or of one node
    std::shared_ptr<rendezvous::Discovery> discovery_;  ///< shared with a background thread that may hang
    base::Background finding_, watching_;
    base::Timer finding_timer_, again_timer_, watch_timer_;
    std::string problem_;  ///< of the latest look-up of the endpoint's names, or why this node cannot host
    std::optional<rendezvous::Member> member_;
    std::unique_ptr<rendezvous::CoordinatorLink> link_;
    HostCoordinator host_;
    std::vector<rendezvous::ResolvedEndpoint> places_;    ///< of the coordinator, in the link's order
    bool hosts_ = false;                                  ///< the coordinator process is on this node
    int coordinator_port_ = 0;                            ///< if this node hosts the coordinator
    bool dialed_ = false;                                 ///< at least once
    bool answered_ = false;                               ///< the current connection has received a Welcome
    bool is_standby_ = false;                             ///< watches the coordinator's claim
    std::vector<rendezvous::ResolvedEndpoint> standbys_;  ///< the other ones
    rendezvous::AskPauses ask_pauses_;                    ///< of the discovery
    bool name_is_loopback_ = false;     ///< the endpoint's name resolves to loopback, only on this node
    std::string advertised_, bind_to_;  ///< this node's address for other nodes; the same, numeric
    WorkerStore& store_;
    base::ReservedPort jax_port_;  ///< for JAX's coordinator, if rank 0 is on this node
    base::Deadline deadline_{loop_};
    std::string master_;  ///< the address of --master-addr; empty: the plan has none
    bool acting_ = false;
    bool own_failure_ = false;      ///< in the running round
    std::int32_t first_rank_ = 0;   ///< of this node, in the running round
    bool unclear_ = false;          ///< of the running round's stop: StopRound::unclear
    std::string own_reason_;        ///< the reason of this node's leave
    std::string own_leave_;         ///< the same with this node's name, for the other nodes; empty: this node stays
    std::optional<int> told_kill_;  ///< the round of which a kill was printed
    std::string printed_reason_;    ///< of the running round's stop: a successor orders it again
    base::Timer reason_timer_;      ///< until a failure elsewhere is printed as the reason of the stop
    std::optional<JobVerdict> dying_;
    bool over_ = false;                 ///< the last order is queued
    std::optional<int> running_round_;  ///< its workers may live
    bool by_guard_ = false;             ///< the guard, not this agent, has killed the running round
};

}  // namespace dlaunch::agent
