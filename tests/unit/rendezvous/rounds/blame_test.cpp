/// The table: what came in which order, and what follows.

#include "rendezvous/rounds/blame.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using Outcome = Blame::Outcome;

/// Letters are events in their order, 200 ms apart:
///   f  a worker failed      p  a worker failed for good (the program cannot be executed)
///   l  a node was lost that had been silent since before anything else      L  one that was heard just now
///   s  the round is stopped      e  what failed is excused (a leaver in a job that was about to end)
///   v  the job is to end: by a signal      y  the same, but the failures before it stand
///   w  a whole node was stopped, workers included      .  time passes
Outcome outcome(const char* events) {
    Blame blame;
    Time now{1h};
    for (const char* event = events; *event; ++event, now += 200ms) {
        const std::string node = "node" + std::to_string(event - events);
        switch (*event) {
            case 'f': blame.failed(now, node, Cause{3, "kind", "it failed", false, ""}); break;
            case 'p': blame.failed(now, node, Cause{127, "kind", "it cannot run", true, ""}); break;
            case 'l': blame.lost(Time{30min}, node); break;
            case 'L': blame.lost(now, node); break;
            case 's': blame.stopped(); break;
            case 'e': blame.excuse(); break;
            case 'v': blame.decide({143, "SIGTERM", {}}, true, false); break;
            case 'y': blame.decide({143, "SIGTERM", {}}, true, true); break;
            case 'w': blame.excuse_same_moment(now); break;
            default: break;
        }
    }
    return blame.outcome();
}

TEST(Blame, table) {
    const std::vector<std::pair<const char*, Outcome>> table{
        {"", Outcome::change},       // nothing went wrong: newcomers, a leaver
        {"s", Outcome::change},      //
        {"fs", Outcome::failure},    // a failure stops the round
        {"sf", Outcome::change},     // what fails when it is stopped anyway does not count
        {"sp", Outcome::failure},    // but what cannot be executed never will be
        {"ls", Outcome::loss},       //
        {"fsl", Outcome::loss},      // the peer died of the loss that was noticed later
        {"fsL", Outcome::failure},   // that node lived on after the failure
        {"lsf", Outcome::loss},      // peers die of the loss
        {"lsp", Outcome::failure},   //
        {"vs", Outcome::verdict},    // a signal
        {"fsv", Outcome::verdict},   // a failure that would have been tried again gives way to it
        {"fsy", Outcome::failure},   // the failure that ends the job stands
        {"fsyl", Outcome::verdict},  // unless it followed from a loss
        {"fsyL", Outcome::failure},  //
        {"fsw", Outcome::change},    // a whole node was stopped; what failed in the moment before followed from it
        {"fs.w", Outcome::failure},  // long before
        {"fsew", Outcome::change},   //
    };
    for (const auto& [events, expected] : table) EXPECT_EQ(outcome(events), expected) << '"' << events << '"';
}

TEST(Blame, the_first_decision_stands) {
    Blame blame;
    blame.decide({143, "SIGTERM", {}}, false, false);
    blame.decide({130, "SIGINT", {}}, true, true);
    EXPECT_EQ(blame.decided()->status, 143);
    EXPECT_FALSE(blame.with_causes());
}

}  // namespace
}  // namespace dlaunch::rendezvous
