#pragma once
/// The parts of a simulated job: nodes, agents with their workers, seats of coordinators, connections, the claim.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "rendezvous/rounds/ask_pauses.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/rounds/member.hpp"

namespace dlaunch::rendezvous::simulation {

enum class Fault : unsigned char {
    cut,
    long_cut,
    one_way_cut,
    late_answers,  ///< earlier replies reach the node late, and the node's messages are lost
    reset,
    freeze,  ///< of the agent; its guard is awake
    long_freeze,
    kill,        ///< of the agent, or of the agent and its guard
    power_loss,  ///< of a node: no end of a stream is sent
    newcomer,
    leave,
    agent_crash_point,
    coordinator_crash,  ///< its guard replaces it, as in the next two
    coordinator_stall,
    coordinator_crash_point,
    host_stall,  ///< of the coordinator and its guard
    host_loss,   ///< of the coordinator and its guard; with the node's power or without
    hand_over,   ///< SIGTERM to the coordinator
    silent_discovery,
    etcd_away,  ///< for all nodes
    etcd_loses_replies,
    etcd_leader_lost,
    etcd_emptied,
    etcd_key_deleted,
    count,
};

/// Epoch of the coordinator that started it, and number: a successor does not know rounds that no member has reported.
using Round = std::pair<std::uint64_t, int>;

/// Of one process: offset and rate are its own.
struct ProcessClock {
    Milliseconds offset{0};
    int per_mille = 1'000;
    [[nodiscard]] Time at(Milliseconds now) const { return Time(now * per_mille / 1'000 + offset); }
    /// The first moment at which it shows `time` or later.
    [[nodiscard]] Milliseconds when(Time time) const {
        const auto shown = std::chrono::ceil<Milliseconds>(time.time_since_epoch()) - offset;
        return (shown * 1'000 + Milliseconds(per_mille - 1)) / per_mille;
    }
};

struct SimulatedNode {
    Milliseconds cut_up{0}, cut_down{0};  ///< until when nothing gets out, or in
    Milliseconds discovery_silent_until{0};
    bool lost = false;
};

struct SimulatedWorkers {
    bool alive = false, stopping = false, succeeded = false, own_failure = false;
    Round round;
    int group_rank = -1;
    std::uint64_t life = 0;  ///< events of an earlier life are void
    std::optional<Cause> cause;
};

struct SimulatedAgent {
    std::size_t node = 0;
    std::unique_ptr<Member> member;  ///< null before the agent begins
    ProcessClock clock;
    Milliseconds frozen_until{0};
    std::uint64_t wire = 0, dial = 0, tick = 0, frozen = 0;
    SimulatedWorkers workers;
    std::vector<WorkerBlock> blocks;
    bool dead = false, disturbed = false, left = false, admitted = false;
    bool answered = false;                 ///< on this connection
    std::uint64_t joined_process = 0;      ///< the latest coordinator that has its join
    std::uint64_t joined_incarnation = 0;  ///< the latest that this coordinator has
    std::uint64_t highest_epoch = 0;
    std::optional<int> status;

    std::size_t seat = 0;                   ///< where it dials first; 0: it does not know yet
    std::vector<int> standby_ports;         ///< where it dials next
    std::size_t place = 0, next_place = 0;  ///< 0: its seat, else one of these ports
    bool got_message = false;               ///< on this connection
    bool is_standby = false;
    AskPauses ask_pauses;
    std::optional<Milliseconds> asks_at;  ///< the discovery, while no coordinator answers
    int standby_port = 0;                 ///< its own, at which it will serve
    struct {
        bool busy = false;
        std::optional<Time> missing_since;       ///< no key of the job has been there
        std::optional<std::int64_t> waited_for;  ///< a record's revision
        std::int64_t refused = 0;                ///< revision of a claim whose port refuses
        Time refused_since;
    } finding;  ///< in etcd
    struct {
        std::uint64_t claim = 0;
        Milliseconds renewed{0};
        Time since;
    } seen;  ///< the claim's latest renewal, as this agent saw it

    [[nodiscard]] bool acts() const { return member && !dead && !status; }
};

/// A process that serves the coordinator.
struct SimulatedProcess {
    std::unique_ptr<Coordinator> coordinator;
    std::size_t seat = 0;
    std::uint64_t epoch = 0, tick = 0;
    ProcessClock clock;
    Milliseconds frozen_until{0};
    bool leaves = false;
};

/// A guard that holds a listening socket, and starts a coordinator process again where one ends unasked.
struct SimulatedSeat {
    std::size_t node = 0;
    bool listening = true;
    std::uint64_t process = 0;  ///< 0: none now
    std::uint64_t generation = 0;
    std::uint64_t epoch = 0;  ///< of the first generation
    std::uint64_t claim = 0;  ///< 0: the place is fixed, or claimed in etcd
    std::string content;      ///< of the claim in etcd
    Milliseconds asked{0};    ///< the latest renewal of that claim
    bool succeeds = false;
    Milliseconds frozen_until{0};
    std::optional<Snapshot> record;
};

/// A port that an agent has bound: refuses dials until the agent has claimed it.
struct SimulatedPort {
    std::size_t node = 0;
    std::size_t seat = 0;  ///< whose coordinator serves it; 0: none yet
    bool listens = false;
};

/// One TCP connection; each side knows for itself whether it is open.
struct Wire {
    struct Item {
        enum class Kind : unsigned char { message, end, reset } kind = Kind::message;
        Message message;
    };
    std::size_t agent = 0, seat = 0;
    std::uint64_t process = 0;  ///< 0: in the backlog
    bool at_agent = false, at_coordinator = false;
    std::deque<Item> up, down;
    Milliseconds up_due{0}, down_due{0};
};

/// The highest claim, as in the folder of the `file` discovery.
struct SimulatedClaim {
    bool exists = false, released = false;
    std::optional<Snapshot> handed_over;  ///< of an owner that has released it
    Milliseconds released_at{0};
    std::uint64_t number = 0;
    std::size_t seat = 0;
    Milliseconds renewed{0};
};

/// The facts about a round on which the properties depend.
struct RoundFacts {
    Milliseconds began{0};
    int restart_count = 0;
    std::size_t size = 0;
    std::map<int, Assigned> started;      ///< group rank -> assignment, where workers have started
    std::map<int, std::size_t> placed;    ///< group rank -> agent, as the coordinator sent it
    std::set<int> succeeded;              ///< group ranks of which all workers exited with 0
    bool failed = false;                  ///< a worker failed by itself
    std::optional<Cause> first_reported;  ///< the first failure that reached the coordinator
    bool order_is_unknown = false;        ///< in which failures reached the coordinators
    std::set<std::string> records;        ///< of the failures that were injected
};

}  // namespace dlaunch::rendezvous::simulation
