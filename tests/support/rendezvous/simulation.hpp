#pragma once
/// One job on a made-up network: a coordinator, agents with workers and guards, delays, cuts, resets, frozen and killed
/// processes, all drawn from one seed. Each process has a clock of its own that differs from the others' by a constant
/// and by up to 2 % in rate. Every message is encoded and decoded on its way.
///
/// run() plays the schedule until every agent has ended, and returns the first property that did not hold:
// clang-format off
///   overlap      no worker of a round lives when a worker of another starts, on any node
///   ranks        group ranks are 0..n-1, each once; sizes, first ranks, store and restart count agree
///   budget       never more restarts than allowed, nor than rounds in which a worker failed by itself; exactly as many
///                where nothing else went wrong
///   verdict      an agent that was there when the job ended, undisturbed, ends with the job's status; 0 only if all
///                workers succeeded or left; a failure's status and record are those of an injected failure
///   left_behind  no worker lives when its agent has ended
///   liveness     when the faults have ended every agent ends within a bound
///   wire         what a machine sends is what its peer receives
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
#include <vector>

#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/rounds/member.hpp"

namespace dlaunch::rendezvous::simulation {

/// The machines of a schedule; a test may put broken ones in their place.
struct Machines {
    std::function<std::unique_ptr<Coordinator>(Coordinator::Options, Time)> coordinator = [](auto options, Time now) {
        return std::make_unique<Coordinator>(std::move(options), now);
    };
    std::function<std::unique_ptr<Member>(Member::Options, Time, std::uint64_t)> member = [](auto options, Time now,
                                                                                             std::uint64_t jitter) {
        return std::make_unique<Member>(std::move(options), now, jitter);
    };
};

class Simulation {
public:
    explicit Simulation(std::uint64_t seed, Machines machines = {});
    ~Simulation();

    /// Empty when every property held.
    [[nodiscard]] std::string run();
    /// What happened, line by line; kept when `traced`.
    bool traced = false;
    [[nodiscard]] const std::string& trace() const { return trace_; }

    /// What schedules contained, to prove that they are worth something.
    struct Tally {
        std::map<int, int> statuses;
        std::map<std::string, int> faults;
        std::uint64_t rounds = 0, restarts = 0, fences = 0, adopted = 0, events = 0;
    };
    void add_to(Tally& tally) const;

private:
    struct Item {
        enum class Kind : unsigned char { message, end, reset } kind = Kind::message;
        Message message;
    };
    /// One TCP connection; each side knows for itself whether it is open.
    struct Wire {
        std::size_t agent = 0;
        std::uint64_t coordinator = 0;  ///< which coordinator process
        bool at_agent = false, at_coordinator = false;
        std::deque<Item> up, down;
        Milliseconds up_due{0}, down_due{0};
    };
    /// By epoch and number: a successor need not know of a round that none of its members knew.
    using Round = std::pair<std::uint64_t, int>;
    struct Workers {
        bool alive = false, stopping = false, succeeded = false, own_failure = false;
        Round round;
        int group_rank = -1;
        std::uint64_t life = 0;  ///< events of an earlier life are void
        std::optional<Cause> cause;
    };
    /// Of one process: offset and rate are its own.
    struct Clock {
        Milliseconds offset{0};
        int per_mille = 1'000;
        [[nodiscard]] Time at(Milliseconds now) const { return Time(now * per_mille / 1'000 + offset); }
        /// The first moment at which it shows `time` or later.
        [[nodiscard]] Milliseconds when(Time time) const {
            const auto shown = std::chrono::ceil<Milliseconds>(time.time_since_epoch()) - offset;
            return (shown * 1'000 + Milliseconds(per_mille - 1)) / per_mille;
        }
    };
    struct Agent {
        std::unique_ptr<Member> member;
        Clock clock;
        Milliseconds frozen_until{0}, cut_up{0}, cut_down{0};
        std::uint64_t wire = 0, dial = 0, tick = 0;
        Workers workers;
        bool dead = false, disturbed = false, left = false, admitted = false;
        std::uint64_t frozen = 0;
        std::optional<int> status;
        Milliseconds began{0};
    };
    struct Host {  ///< the coordinator's process
        std::unique_ptr<Coordinator> coordinator;
        std::uint64_t number = 0, tick = 0;
        Clock clock;
        Milliseconds frozen_until{0};
        std::size_t agent = 0;  ///< shares its process
    };
    struct Event {
        Milliseconds at{0};
        std::uint64_t order = 0;
        std::function<void()> call;
        bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    std::uint64_t draw();
    std::int64_t draw(std::int64_t low, std::int64_t high);
    bool chance(int percent) { return draw(0, 99) < percent; }
    Milliseconds ms(std::int64_t low, std::int64_t high) { return Milliseconds(draw(low, high)); }
    void at(Milliseconds when, std::function<void()> call);
    void after(Milliseconds delay, std::function<void()> call) { at(now_ + delay, std::move(call)); }
    void note(const std::string& text);
    void violated(const std::string& property, const std::string& text);

    void begin_agent();
    void begin_host(std::size_t agent);
    void plan_faults();
    void fault();
    void cut(Agent& agent, bool up, bool down, Milliseconds time);
    void freeze(std::size_t at, Milliseconds time);
    void kill(std::size_t at, bool silently);
    void take_over();
    void reset(std::size_t at);

    void push(std::uint64_t wire, bool up, Item item);
    void deliver(std::uint64_t wire, bool up);
    void to_coordinator(std::uint64_t number, Wire& wire, const Item& item);
    void to_agent(std::uint64_t number, Wire& wire, const Item& item);
    void dial(std::size_t at);
    [[nodiscard]] Milliseconds cut_until(const Agent& agent, bool up) const;
    void hang_up(std::uint64_t wire, bool in_order);

    void act(std::size_t at);
    void act_host();
    void tick_agent(std::size_t at);
    void tick_host();
    [[nodiscard]] Time clock(const Agent& agent) const { return agent.clock.at(now_); }
    [[nodiscard]] Time clock() const { return host_.clock.at(now_); }
    Clock any_clock() { return {ms(0, 1'000'000'000), static_cast<int>(draw(980, 1'020))}; }

    void start_workers(std::size_t at, const Assigned& assigned);
    void worker_fails(std::size_t at, std::uint64_t life, bool permanent, bool own);
    void stop_workers(std::size_t at, Milliseconds within);
    void workers_end(std::size_t at, std::uint64_t life, bool succeeded);
    void notice(std::size_t at, std::uint64_t life, std::function<void(Agent&)> what);
    void upset_peers(Round round);
    void check_round(const Assigned& assigned, std::size_t agent);
    void ended(std::size_t at, const Member::EndJob& how);
    void check_end();

    Machines machines_;
    std::uint64_t random_;
    Milliseconds now_{3'600'000}, faults_end_{0}, began_{now_};
    std::priority_queue<Event> events_;
    std::uint64_t order_ = 0;
    std::string violation_, trace_;

    Coordinator::Options options_;
    bool fixed_ = true;  ///< a dead coordinator has no successor
    std::deque<Agent> agents_;
    Host host_;
    std::uint64_t hosts_ = 0;
    std::map<std::uint64_t, Wire> wires_;
    std::uint64_t wire_numbers_ = 0;
    bool coordinator_gone_ = false, coordinator_disturbed_ = false;

    std::map<Round, std::map<int, Assigned>> rounds_;     ///< group rank -> what it was told
    std::map<Round, std::set<int>> succeeded_;            ///< group ranks whose workers all ended well
    std::map<Round, std::map<int, std::size_t>> placed_;  ///< group rank -> agent
    std::set<Round> failed_rounds_;
    std::map<Round, std::set<std::string>> records_;  ///< of the failures that were injected
    std::optional<End> verdict_;
    std::optional<Snapshot> recorded_;  ///< the coordinator's latest
    Milliseconds verdict_at_{0};
    Tally tally_;
};

}  // namespace dlaunch::rendezvous::simulation
