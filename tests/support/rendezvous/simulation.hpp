#pragma once
/// One job on a simulated network: agents with workers and guards, coordinators in processes of their own, the
/// discovery by a folder or etcd, delays, cuts, resets, frozen and killed processes, all drawn from one seed. Each
/// process has a clock of its own that differs from the others' by a constant and by up to 2 % in rate. Every message
/// and every snapshot is encoded and decoded on its way. A process may die after any single action of its machine. Each
/// schedule draws from a random subset of the faults.
///
/// run() plays the schedule until every agent has ended, and returns the first property that did not hold:
// clang-format off
///   overlap      no worker of a round lives when a worker of another starts, on any node
///   epochs       no coordinator sends anything once a later one has begun, and no agent follows an earlier one again
///   ranks        group ranks are 0..n-1, each once; sizes, first ranks, store and restart count agree
///   budget       never more restarts than allowed, nor than rounds in which a worker failed by itself; in quiet times
///                each failed round spends one; a failure ends the job only when the budget is spent
///   verdict      an agent that was there when the job ended, undisturbed, ends with the job's status; 0 only if all
///                workers succeeded or left; status and record are those of an injected failure, in quiet times of the
///                first that was reported; 80 only where nodes lack, 143 only after a request to leave
///   cause        a round is stopped for a failure or a change of membership only: a coordinator that is replaced
///                adopts it where all members join in time
///   changes      a change of membership costs one round at most, a node that was cut off two
///   progress     in quiet times with enough nodes a round begins soon
///   left_behind  no worker lives when its agent has ended
///   liveness     when the faults have ended every agent ends within a bound
///   wire         a peer decodes each message to the value that was sent
// clang-format on

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>

#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/discovery/etcd_keys.hpp"
#include "tests/support/rendezvous/simulated_etcd.hpp"
#include "tests/support/rendezvous/simulation_world.hpp"

namespace dlaunch::rendezvous::simulation {

/// Hooks with which a test breaks a machine, to prove that a property can fail.
struct Machines {
    std::function<std::unique_ptr<Coordinator>(Coordinator::Options, Time)> coordinator = [](auto options, Time now) {
        return std::make_unique<Coordinator>(std::move(options), now);
    };
    std::function<std::unique_ptr<Member>(Member::Options, Time, std::uint64_t)> member = [](auto options, Time now,
                                                                                             std::uint64_t jitter) {
        return std::make_unique<Member>(std::move(options), now, jitter);
    };
    /// Changes an action of a coordinator. False: the coordinator skips the action.
    std::function<bool(Coordinator::Action&)> acts;
    std::function<bool(Member::Action&)> member_acts;
    /// A coordinator takes every closed connection for a death.
    bool cut_is_death = false;
    /// Claims in etcd have epochs above all that their claimants know.
    bool claims_above_known = true;
    /// The coordinator's own lease counts from the answer, not from the request.
    bool lease_from_answer = false;
    /// A coordinator sends first, and records what it has decided afterwards.
    bool records_last = false;
    /// A claim in etcd whose port has refused for so long is dead.
    Milliseconds closed_port{1'000};
    /// A claimant checks that the claim is still its own, as soon as its port listens.
    bool looks_when_it_listens = true;
    /// The step that the owner of a claim in etcd takes in place of `step`.
    std::function<OwnersStep(OwnersStep step)> owner = [](OwnersStep step) { return step; };
    /// Of the fence margin: how long fenced workers may take to die.
    int slowest_kill_percent = 50;
};

class Simulation {
public:
    explicit Simulation(std::uint64_t seed, Machines machines = {});
    ~Simulation();

    /// Empty when every property held.
    [[nodiscard]] std::string run();
    /// The log of events, line by line; kept when `traced`.
    bool traced = false;
    [[nodiscard]] const std::string& trace() const { return trace_; }

    /// Counts of faults and outcomes, to prove that schedules cover them.
    struct Tally {
        std::map<int, int> statuses;
        std::map<std::string, int> faults;
        std::uint64_t rounds = 0, restarts = 0, fences = 0, adopted = 0, events = 0, coordinators = 0;
        std::uint64_t quiet_failures = 0;  ///< failed rounds with an exactly known cost in restarts
        Milliseconds longest{0};           ///< from the last fault until all agents had ended
    };
    void add_to(Tally& tally) const;

private:
    struct Event {
        Milliseconds at{0};
        std::uint64_t order = 0;
        std::function<void()> call;
        bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
    };
    using Agent = SimulatedAgent;
    using Process = SimulatedProcess;
    using Seat = SimulatedSeat;

    // simulation.cpp: chance, time, agents
    std::uint64_t draw();
    std::int64_t draw(std::int64_t low, std::int64_t high);
    bool chance(int percent) { return draw(0, 99) < percent; }
    Milliseconds ms(std::int64_t low, std::int64_t high) { return Milliseconds(draw(low, high)); }
    void at(Milliseconds when, std::function<void()> call);
    void after(Milliseconds delay, std::function<void()> call) { at(now_ + delay, std::move(call)); }
    void note(const std::string& text);
    void violated(const std::string& property, const std::string& text);
    std::size_t add_agent(std::size_t node);
    void begin_agent(std::size_t at);
    void make_member(std::size_t at);
    void act(std::size_t at);
    void tick_agent(std::size_t at);
    void ended(std::size_t at, const Member::EndJob& how);
    ProcessClock any_clock() { return {ms(0, 1'000'000'000), static_cast<int>(draw(980, 1'020))}; }
    [[nodiscard]] Time clock(const Agent& agent) const { return agent.clock.at(now_); }
    [[nodiscard]] Time clock(const Process& process) const { return process.clock.at(now_); }

    // simulation_workers.cpp
    void start_workers(std::size_t at, const Assigned& assigned);
    void worker_fails(std::size_t at, std::uint64_t life, bool permanent, bool own);
    void stop_workers(std::size_t at, Milliseconds within);
    void workers_end(std::size_t at, std::uint64_t life, bool succeeded);
    void notice(std::size_t at, std::uint64_t life, std::function<void(Agent&)> what);
    void upset_peers(Round round);
    [[nodiscard]] Milliseconds kill_time();

    // simulation_seats.cpp: coordinator processes, their guards, the claim
    std::size_t add_seat(std::size_t node, std::uint64_t epoch, std::uint64_t claim, bool succeeds);
    /// `held_for`: since the request by which its claim was renewed or made.
    void start_process(std::size_t seat, Milliseconds held_for = Milliseconds(0));
    void end_process(std::uint64_t number, bool is_silent);
    void crash_process(std::uint64_t number);
    void replace_process(std::size_t seat, Milliseconds pause);
    void close_seat(std::size_t seat, bool is_silent);
    void leave_seat(std::uint64_t number, bool job_is_over);
    void act_process(std::uint64_t number);
    void perform(std::uint64_t number, Coordinator::Action& action);
    void tick_process(std::uint64_t number);
    void renew_claim(std::uint64_t number);
    void claim_answered(std::uint64_t number, Time asked);
    void look(std::size_t at);
    void locate(std::size_t at);
    [[nodiscard]] bool is_vacant(Agent& agent);
    void take_over(std::size_t at);
    [[nodiscard]] Process* process(std::uint64_t number);
    [[nodiscard]] std::size_t current_seat() const;

    // simulation_etcd*.cpp: claims in etcd
    using Keys = std::optional<EtcdKeys>;  ///< none: etcd has not answered
    void ask_etcd(std::size_t node, std::function<void()> work, std::function<void(bool answered)> then);
    void read_keys(std::size_t node, std::function<void(Keys)> then);
    void claim_in_etcd(std::size_t node, const std::string& content, const EtcdKeys& seen,
                       std::function<void(std::optional<bool>)> then);
    void when_awake(std::uint64_t process, std::function<void(Process&)> what);
    void renew_in_etcd(std::uint64_t process);
    void renew(std::size_t node, const std::string& content, Milliseconds since_held,
               std::function<void(Claim::State)> then);
    void replace_in_etcd(std::size_t seat);
    void release_in_etcd(std::uint64_t process, bool job_is_over);
    void begin_in_etcd(std::size_t node);
    void watch_etcd(std::size_t at);
    void find_in_etcd(std::size_t at);
    void look_in_etcd(std::size_t at);
    void on_keys(std::size_t at, const Keys& keys);
    void on_claim(std::size_t at, const etcd::KeyValue& claim);
    void claim_for(std::size_t at, const EtcdKeys& seen);
    void listen(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked);
    void host(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked);
    void take_seat(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked);
    void when_agent_acts(std::size_t at, std::function<void(Agent&)> what);
    void fault_of_etcd(Fault kind);
    [[nodiscard]] bool may_have_two_owners() const {
        return keys_lost_at_ && now_ < *keys_lost_at_ + options_.node_timeout;
    }
    /// An owner that cannot reach etcd serves its members until its lease ends, and their workers live for up to a node
    /// time-out more.
    [[nodiscard]] bool may_have_workers_of_two_owners() const {
        return keys_lost_at_ && now_ < *keys_lost_at_ + claim_lease(options_.node_timeout) + options_.node_timeout;
    }
    [[nodiscard]] bool refuses(std::size_t node, const SimulatedPort& port) const;
    [[nodiscard]] std::string claim_content(std::size_t node, int port, std::uint64_t above);
    [[nodiscard]] Time etcd_time() const { return etcd_clock_.at(now_); }

    // simulation_network.cpp
    void push(std::uint64_t wire, bool up, Wire::Item item);
    void deliver(std::uint64_t wire, bool up);
    void to_coordinator(std::uint64_t number, Wire& wire, const Wire::Item& item);
    void to_agent(std::uint64_t number, Wire& wire, const Wire::Item& item);
    void dial(std::size_t at);
    void dialed(std::size_t at);
    void try_another(Agent& agent);
    void name_standbys(std::size_t at, const Member::NameStandbys& named);
    int bind_port(Agent& agent);
    void bind(std::uint64_t wire, std::uint64_t process);
    [[nodiscard]] Milliseconds cut_until(const Wire& wire, bool up) const;
    [[nodiscard]] Milliseconds cut_until(std::size_t agent_node, std::size_t seat_node, bool up) const;
    void hang_up(std::uint64_t wire, bool in_order);

    // simulation_faults.cpp
    void plan_faults();
    void fault();
    void fault_of_coordinator(Fault kind);
    void cut(std::size_t node, bool up, bool down, Milliseconds time);
    void freeze(std::size_t at, Milliseconds time);
    void kill(std::size_t at, bool guard_too);
    void lose_power(std::size_t node);
    void stall(std::uint64_t number, Milliseconds time, bool guard_too);
    void request_leave(std::size_t at);
    void newcomer(std::size_t node);
    void reset(std::size_t at);
    /// Effects last until `until`, and may cost so many rounds.
    void disturb(Milliseconds until, std::size_t rounds);
    void disturb_coordinator();
    [[nodiscard]] std::size_t everybody() const { return agents_.size() + 1; }

    // simulation_properties.cpp
    void check_sent(std::uint64_t number, const Message& message);
    void check_assigned(const Assigned& assigned);
    void check_round(const Assigned& assigned, std::size_t agent);
    void check_ranks(const RoundFacts& facts);
    void check_stop(const StopRound& stop);
    void check_verdict(const Verdict& verdict);
    void check_progress();
    void check_end();
    void note_join(std::uint64_t process, std::size_t agent, const Join& join);
    void note_report(std::uint64_t process, std::size_t agent, const Report& report);
    void expect_adoption(std::uint64_t process);
    [[nodiscard]] Milliseconds settled_at() const;
    [[nodiscard]] std::size_t healthy() const;
    [[nodiscard]] const RoundFacts* latest() const { return order_of_rounds_.empty() ? nullptr : last_round(); }
    [[nodiscard]] const RoundFacts* last_round() const { return &rounds_.at(order_of_rounds_.back()); }

    Machines machines_;
    std::uint64_t random_;
    Milliseconds now_{3'600'000}, faults_end_{0}, failures_end_{0}, began_{now_};
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0;
    std::string violation_, trace_;

    Coordinator::Options options_;
    bool fixed_ = true;  ///< the place of the coordinator
    bool etcd_ = false;  ///< else the claim is in etcd, else in a folder
    int failure_percent_ = 15;
    std::vector<Fault> enabled_;
    std::deque<SimulatedNode> nodes_;
    std::deque<Agent> agents_;
    std::deque<Seat> seats_{1};  ///< the first one is none
    std::map<std::uint64_t, Process> processes_;
    std::uint64_t process_numbers_ = 0;
    std::uint64_t latest_process_ = 0;  ///< that has begun with a valid lease
    std::map<std::uint64_t, Wire> wires_;
    std::uint64_t wire_numbers_ = 0;
    SimulatedClaim claim_;  ///< in the folder
    SimulatedEtcd store_;
    ProcessClock etcd_clock_;
    Milliseconds etcd_away_until_{0}, etcd_loses_replies_until_{0};
    std::optional<Milliseconds> keys_lost_at_;
    std::map<int, SimulatedPort> ports_;
    int coordinator_crash_in_ = 0, agent_crash_in_ = 0;  ///< actions; 0: none is planned

    std::map<Round, RoundFacts> rounds_;
    std::vector<Round> order_of_rounds_;
    std::size_t allowed_rounds_ = 1;
    Milliseconds disturbed_until_{0}, coordinator_disturbed_at_{0}, idle_since_{0};
    struct {
        std::uint64_t process = 0;
        int round = -1;
        Milliseconds since{0};
        bool ranks_are_told = false;    ///< all members started: one that was stopped before does not tell its rank
        std::set<std::size_t> missing;  ///< members that have not joined
    } adoption_;
    std::optional<Verdict> verdict_;
    bool verdicts_may_differ_ = false, ended_by_operator_ = false;
    Tally tally_;
};

}  // namespace dlaunch::rendezvous::simulation
