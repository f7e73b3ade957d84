/// The simulation sees machines that break a rule: each must be caught within some thousand schedules.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

constexpr std::uint64_t kSchedules = 20'000;

/// The first property that a schedule saw broken; empty: none did.
std::string first_violation(const Machines& machines) {
    for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
        Simulation simulation(seed, machines);
        if (std::string violation = simulation.run(); !violation.empty()) return violation;
    }
    return {};
}

template <class Mutant>
Machines with_coordinator() {
    Machines machines;
    machines.coordinator = [](auto options, Time now) { return std::make_unique<Mutant>(std::move(options), now); };
    return machines;
}

template <class Mutant>
Machines with_member() {
    Machines machines;
    machines.member = [](auto options, Time now, std::uint64_t jitter) {
        return std::make_unique<Mutant>(std::move(options), now, jitter);
    };
    return machines;
}

struct Impatient : Coordinator {
    using Coordinator::Coordinator;
    Milliseconds silence_limit() const override { return config().node_timeout / 2; }
};
TEST(Mutants, a_coordinator_that_takes_silent_nodes_for_gone_too_early) {
    EXPECT_TRUE(first_violation(with_coordinator<Impatient>()).starts_with("overlap"));
}

struct Hasty : Coordinator {
    using Coordinator::Coordinator;
    bool round_has_stopped() const override { return true; }
};
TEST(Mutants, a_coordinator_that_does_not_wait_for_the_last_worker) {
    EXPECT_FALSE(first_violation(with_coordinator<Hasty>()).empty());
}

struct Credulous : Coordinator {
    using Coordinator::Coordinator;
    bool all_members_came() const override { return true; }
};
TEST(Mutants, a_successor_that_adopts_a_round_before_all_members_came) {
    EXPECT_FALSE(first_violation(with_coordinator<Credulous>()).empty());
}

struct Unfenced : Member {
    using Member::Member;
    Milliseconds lease() const override { return node_timeout() * 2; }
};
TEST(Mutants, a_member_that_outlives_its_lease) {
    EXPECT_TRUE(first_violation(with_member<Unfenced>()).starts_with("overlap"));
}

}  // namespace
}  // namespace dlaunch::rendezvous::simulation
