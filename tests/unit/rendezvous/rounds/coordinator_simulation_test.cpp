/// DLAUNCH_SCHEDULES: how many, from DLAUNCH_FIRST_SCHEDULE on, so that processes can share many; DLAUNCH_SEED: one
/// only, with everything that happened.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A hundred thousand take about fifteen seconds in a release build; where everything is slower, fewer.
std::uint64_t usual_schedules() {
#ifdef NDEBUG
    return std::getenv("DLAUNCH_SANITIZE") ? 500 : 100'000;
#else
    return 3'000;
#endif
}

TEST(Simulation, every_property_holds_in_every_schedule) {
    if (const char* seed = std::getenv("DLAUNCH_SEED")) {
        Simulation simulation(std::strtoull(seed, nullptr, 10));
        simulation.traced = true;
        const std::string violation = simulation.run();
        fmt::print("{}", simulation.trace());
        ASSERT_EQ(violation, "");
        return;
    }
    Simulation::Tally tally;
    const auto schedules = number("DLAUNCH_SCHEDULES", usual_schedules());
    const auto first = number("DLAUNCH_FIRST_SCHEDULE", 0);
    for (std::uint64_t seed = first; seed < first + schedules; ++seed) {
        Simulation simulation(seed);
        if (const std::string violation = simulation.run(); !violation.empty()) {
            Simulation again(seed);
            again.traced = true;
            static_cast<void>(again.run());
            FAIL() << "schedule " << seed << ": " << violation << "\n"
                   << again.trace() << "to play it alone: DLAUNCH_SEED=" << seed << " simulation_tests";
        }
        simulation.add_to(tally);
    }
    fmt::print(
        "{} schedules: {} events, {} rounds, {} restarts, {} fences, {} coordinators, {} rounds adopted, {} "
        "failures in quiet times, ended within {} ms\n",
        schedules, tally.events, tally.rounds, tally.restarts, tally.fences, tally.coordinators, tally.adopted,
        tally.quiet_failures, tally.longest.count());
    for (const auto& [status, count] : tally.statuses) fmt::print("  status {}: {}\n", status, count);
    for (const auto& [name, count] : tally.faults) fmt::print("  {}: {}\n", name, count);
    if (schedules < 1'000) return;
    EXPECT_GT(tally.rounds, schedules) << "the schedules are too dull";
    for (const char* fault : {"cut",
                              "cut one way",
                              "reset",
                              "freeze",
                              "killed",
                              "power loss",
                              "newcomer",
                              "leave",
                              "coordinator crash",
                              "coordinator stall",
                              "coordinator crash point",
                              "host stall",
                              "host loss",
                              "hand over",
                              "silent discovery",
                              "etcd away",
                              "etcd loses replies",
                              "etcd leader lost",
                              "etcd emptied",
                              "etcd key deleted",
                              "take-over"})
        EXPECT_GT(tally.faults[fault], 0) << fault;
    EXPECT_GT(tally.statuses[0], 0);
    EXPECT_GT(tally.adopted, 0U);
    EXPECT_GT(tally.quiet_failures, 0U);
}

}  // namespace
}  // namespace dlaunch::rendezvous::simulation
