/// The outcome of a round for each order of events.

#include "rendezvous/rounds/blame.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using Outcome = Blame::Outcome;

/// Letters are events in their order, 200 ms apart:
///   f  a worker failed      p  a worker failed for good (the program cannot be executed)
///   l  loss of a node that was silent before all other events      L  loss of a node that has just sent a message
///   s  the round is stopped      e  failures are excused (a leaver in a finishing job)
///   v  a signal ends the job      y  the same, but the failures before it stand
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
        {"sf", Outcome::change},     // failures during a stop do not count
        {"sp", Outcome::failure},    // but a permanent failure counts
        {"ls", Outcome::loss},       //
        {"fsl", Outcome::loss},      // the loss, detected later, caused the failure
        {"fsL", Outcome::failure},   // the node still sent messages after the failure
        {"lsf", Outcome::loss},      // the loss causes failures of peers
        {"lsp", Outcome::failure},   //
        {"vs", Outcome::verdict},    // a signal
        {"fsv", Outcome::verdict},   // a signal replaces a failure that would be restarted
        {"fsy", Outcome::failure},   // the failure that ends the job stands
        {"fsyl", Outcome::verdict},  // unless it followed from a loss
        {"fsyL", Outcome::failure},  //
        {"fsw", Outcome::change},    // the stop of a whole node caused the failure just before
        {"fs.w", Outcome::failure},  // long before
        {"fsew", Outcome::change},   //
    };
    for (const auto& [events, expected] : table) EXPECT_EQ(outcome(events), expected) << '"' << events << '"';
}

/// Of all orders of up to five events.
TEST(Blame, every_order_of_events_keeps_the_rules) {
    const std::string kinds = "fplLsevyw";
    std::vector<std::string> orders{""};
    for (std::size_t at = 0; at < orders.size(); ++at)
        if (orders[at].size() < 5)
            for (const char kind : kinds) orders.push_back(orders[at] + kind);
    for (const std::string& order : orders) {
        const auto has = [&](const char* any) { return order.find_first_of(any) != std::string::npos; };
        const Outcome got = outcome(order.c_str());
        const auto first_decision = order.find_first_of("vy");
        const bool signalled = first_decision != std::string::npos && order[first_decision] == 'v';
        if (signalled) {
            EXPECT_EQ(got, Outcome::verdict) << order;  // whatever else went wrong
        }
        if (!has("vy")) {
            EXPECT_NE(got, Outcome::verdict) << order;
        }
        if (!has("fp")) {
            EXPECT_NE(got, Outcome::failure) << order;
        }
        if (!has("lL")) {
            EXPECT_NE(got, Outcome::loss) << order;
        }
        if (!has("vy") && order.find_first_of("fp") != std::string::npos && !has("lLsew")) {
            EXPECT_EQ(got, Outcome::failure) << order;
        }
        if (has("fp") && order.find_first_of("fp") > order.find('l') && !has("pvy")) {
            EXPECT_EQ(got, Outcome::loss) << order;  // peers die of a loss before them
        }
        if (has("lL") && !has("fpvy")) {
            EXPECT_EQ(got, Outcome::loss) << order;
        }
        if (!has("fplLvy")) {
            EXPECT_EQ(got, Outcome::change) << order;
        }
    }
}

TEST(Blame, a_successor_restores_the_pending_decision) {
    Blame blame;
    blame.lost(Time{1h}, "node2");
    blame.decide({80, "too few", {}}, false, true);
    Blame next;
    next.restore(blame.pending("node2 was lost"));
    EXPECT_EQ(next.outcome(), Outcome::verdict);
    EXPECT_EQ(next.lost_host(), "node2");
    EXPECT_EQ(next.pending("node2 was lost"), blame.pending("node2 was lost"));
}

TEST(Blame, the_first_decision_stands) {
    Blame blame;
    blame.decide({143, "SIGTERM", {}}, false, false);
    blame.decide({130, "SIGINT", {}}, true, true);
    EXPECT_EQ(blame.decided()->status, 143);
    EXPECT_FALSE(blame.with_causes());
}

TEST(Blame, workers_that_did_not_fail_are_no_failure) {
    Blame blame;
    Cause none;
    none.strength = Cause::kNoFailure;
    blame.failed(Time{1h}, "node0", none);
    EXPECT_TRUE(blame.causes().empty());
}

TEST(Blame, the_outcomes_of_all_nodes_are_united_until_the_next_round) {
    Blame blame;
    blame.ended({.stopped = {{0, 2}}, .finished = {}, .outlived = {}});
    blame.ended({.stopped = {{2, 1}}, .finished = {{3, 1}}, .outlived = {{4, 1}}});
    EXPECT_EQ(blame.outcomes(), (RankOutcomes{{{0, 3}}, {{3, 1}}, {{4, 1}}}));
    blame.begin_round();
    EXPECT_EQ(blame.outcomes(), RankOutcomes{});
}

}  // namespace
}  // namespace dlaunch::rendezvous
