#include "agent/errors/first_cause.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::agent {
namespace {

/// A rank that exited with `code` at `after` seconds; `message` is the end of its stderr.
Failure exited(int rank, int code, const std::string& message, double after = 1) {
    Failure made;
    made.rank = rank;
    made.code = code;
    made.message = message;
    made.after = std::chrono::duration<double>(after);
    return made;
}

Failure lost(int rank, double after = 1) { return exited(rank, 10 + rank, "Connection reset by peer", after); }

Failure killed(int rank, int signal, const std::string& message = "") {
    Failure made = exited(rank, 0, message);
    made.how = ExitKind::signalled;
    made.signal = signal;
    return made;
}

Failure stopped(int rank) {
    Failure made = killed(rank, SIGTERM);
    made.collateral = true;
    return made;
}

Failure exited_with_0(int rank, double after) {
    Failure made = exited(rank, 0, "", after);
    made.collateral = true;
    return made;
}

struct Judgement {
    int rank, status;
    Strength strength;
    std::vector<int> others;
    friend bool operator==(const Judgement&, const Judgement&) = default;
};
std::ostream& operator<<(std::ostream& out, const Judgement& judgement) {
    return out << "rank " << judgement.rank << ", status " << judgement.status << ", strength "
               << static_cast<int>(judgement.strength);
}

Judgement judge(std::vector<Failure> failures) {
    for (Failure& failure : failures) weigh(failure);
    const Strength strength = put_first_cause_first(failures);
    Judgement made{failures.front().rank, exit_status_of(failures), strength, {}};
    for (std::size_t at = 1; at < failures.size(); ++at) made.others.push_back(failures[at].rank);
    EXPECT_EQ(strength == Strength::none, failures.front().because.empty());
    EXPECT_TRUE(strength == Strength::none || !failures.front().collateral);
    return made;
}

TEST(FirstCause, IsAnErrorOfItsOwnHoweverLate) {
    EXPECT_EQ(judge({lost(0), lost(1), exited(2, 9, "ValueError: loss is NaN"), lost(3)}),
              (Judgement{2, 9, Strength::own_error, {0, 1, 3}}));
    EXPECT_EQ(judge({lost(0), exited(2, 9, "")}), (Judgement{2, 9, Strength::own_error, {0}}));
}

TEST(FirstCause, IsTheEarlierOfTwoErrors) {
    EXPECT_EQ(judge({lost(0), exited(2, 9, "ValueError"), exited(1, 4, "KeyError")}),
              (Judgement{2, 9, Strength::own_error, {0, 1}}));
}

TEST(FirstCause, IsACrashOrARecordBeforeAnExit) {
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), killed(2, SIGSEGV)}), (Judgement{2, 139, Strength::crash, {1}}));
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), killed(2, SIGABRT, "Assertion failed")}),
              (Judgement{2, 134, Strength::crash, {1}}));
    Failure recorded = exited(2, 1, "");
    recorded.record = ErrorRecord{"ValueError: loss is NaN", "", "{}"};
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), recorded}), (Judgement{2, 1, Strength::crash, {1}}));
}

TEST(FirstCause, IsNoAbortThatReportsALostPeer) {
    EXPECT_EQ(judge({killed(1, SIGABRT, "watchdog: remote process exited or there was a network error"),
                     exited(3, 1, "ValueError")}),
              (Judgement{3, 1, Strength::own_error, {1}}));
}

TEST(FirstCause, IsNoCallOfMpiAbortThatReportsALostPeer) {
    const auto aborted = [](const std::string& message) {
        Failure made = exited(1, 15, message);
        made.how = ExitKind::judged;
        made.text = "called MPI_Abort with 15";
        return made;
    };
    EXPECT_EQ(judge({aborted("Fatal error in internal_Barrier: Communication error with rank 2"), killed(2, SIGSEGV)}),
              (Judgement{2, 139, Strength::crash, {1}}));
    EXPECT_EQ(judge({aborted("the mesh is broken"), killed(2, SIGSEGV)}), (Judgement{1, 15, Strength::crash, {2}}));
}

TEST(FirstCause, ASignalFromElsewhereIsNoCrash) {
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), killed(2, SIGKILL)}), (Judgement{1, 4, Strength::own_error, {2}}));
    Failure out_of_memory = killed(2, SIGKILL);
    out_of_memory.out_of_memory = OutOfMemory::certain;
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), out_of_memory}), (Judgement{2, 137, Strength::crash, {1}}));
}

TEST(FirstCause, IsTheRankThatLostPeersName) {
    EXPECT_EQ(judge({exited(0, 7, "rank 2 has left the group"), lost(1), stopped(2), stopped(3)}),
              (Judgement{2, 7, Strength::named, {0, 1, 3}}));
}

TEST(FirstCause, IsTheRankNamedMostButRatherOneThatDidNotFail) {
    const std::string gone = " is gone";
    EXPECT_EQ(judge({exited(0, 1, "rank 1" + gone), exited(1, 2, "rank 2" + gone), exited(3, 3, "rank 1" + gone),
                     stopped(2)}),
              (Judgement{2, 1, Strength::named, {0, 1, 3}}));
    EXPECT_EQ(judge({exited(1, 1, "rank 2" + gone), exited(3, 3, "rank 0" + gone), exited(4, 3, "rank 0" + gone),
                     stopped(2), stopped(0)}),
              (Judgement{0, 1, Strength::named, {1, 3, 4, 2}}));
}

TEST(FirstCause, IsTheRankAtWhichTheNamesEnd) {
    const auto names = [](int rank, int other) { return exited(rank, 5, fmt::format("rank {} is gone", other)); };
    const Failure last = exited(6, 9, "could not connect to server: Connection refused");
    EXPECT_EQ(judge({names(2, 6), names(0, 2), names(1, 2), last, names(3, 2)}),
              (Judgement{6, 9, Strength::named, {2, 0, 1, 3}}))
        << "most name rank 2, which names rank 6";
    EXPECT_EQ(judge({names(2, 6), names(0, 2), names(6, 2)}), (Judgement{2, 5, Strength::named, {0, 6}}))
        << "a circle has no end";
    std::vector<Failure> circle{exited(0, 4, "rank 1 is gone", 2), exited(1, 5, "rank 0 is gone", 1)};
    for (Failure& failure : circle) weigh(failure);
    for (int again = 0; again < 2; ++again) {
        put_first_cause_first(circle);
        EXPECT_EQ(circle.front().rank, 1) << "the earliest exit, also when it is chosen again";
    }
    EXPECT_EQ(judge({names(0, 2), names(1, 2), names(2, 6), last, names(4, 3), names(5, 3), lost(3)}).rank, 6)
        << "three ranks lead to 6, two to 3";
}

TEST(FirstCause, TellsWhichRanksNameIt) {
    std::vector<Failure> failures{exited(2, 5, "rank 6 is gone"), exited(0, 5, "rank 2 is gone"),
                                  exited(6, 9, "Connection refused")};
    for (Failure& failure : failures) weigh(failure);
    put_first_cause_first(failures);
    EXPECT_EQ(failures.front().because, "the messages of rank 2 name it");
}

TEST(FirstCause, IsTheRankWhoseCallDiffers) {
    const std::string message =
        "mismatch in group world: as call #5 rank 0 called barrier, rank 2 called all_reduce(int32, 1, sum); all ranks "
        "...";
    EXPECT_EQ(judge({exited(3, 1, message), exited(1, 1, message), exited(2, 4, message), stopped(0)}),
              (Judgement{2, 4, Strength::named, {3, 1, 0}}));
}

TEST(FirstCause, IsTheOneRankThatLostSomethingElseThanALibrarysPeers) {
    const auto of_gloo = [](int rank) { return exited(rank, 1, "[gloo/pair.cc:538] Connection closed by peer"); };
    const Failure of_child = exited(1, 7, "EOFError", 2);
    EXPECT_EQ(judge({of_gloo(0), of_gloo(2), of_child}), (Judgement{1, 7, Strength::lost_peer, {0, 2}}));
    EXPECT_EQ(judge({of_child, lost(0), lost(2)}).rank, 1) << "the earliest of three plain losses";
    EXPECT_EQ(judge({lost(0), of_child, lost(2)}).rank, 0);
}

TEST(FirstCause, IsTheOneRankWhoseConnectionWasRefused) {
    const Failure refused = exited(1, 7, "ConnectionRefusedError: [Errno 111] Connection refused", 2);
    EXPECT_EQ(judge({lost(0), lost(2), refused}), (Judgement{1, 7, Strength::lost_peer, {0, 2}}));
    EXPECT_EQ(judge({lost(0), refused}), (Judgement{1, 7, Strength::lost_peer, {0}}));
    Failure too = refused;
    too.rank = 3;
    EXPECT_EQ(judge({lost(0), refused, too}).rank, 0) << "most were refused: they lost the same rank";
    EXPECT_EQ(judge({lost(0), refused, exited_with_0(2, 1)}).rank, 2) << "a rank that left early";
}

TEST(FirstCause, ANamedRankThatFailedKeepsItsStatus) {
    EXPECT_EQ(judge({exited(1, 4, "rank 0 is gone"), exited(0, 1, "recv: Connection reset by peer")}),
              (Judgement{0, 1, Strength::named, {1}}));
}

TEST(FirstCause, ANamedRankMayBeUnknownHere) {
    EXPECT_EQ(judge({exited(0, 7, "rank 2 has left the group")}), (Judgement{2, 7, Strength::named, {0}}));
}

TEST(FirstCause, IsARankThatExitedWith0WhileItsPeersNeededIt) {
    EXPECT_EQ(judge({lost(0, 5.0), lost(2, 5.1), exited_with_0(1, 4.9)}),
              (Judgement{1, 10, Strength::early_exit, {0, 2}}));
    EXPECT_EQ(judge({lost(0, 5.0), lost(3, 5.0), exited_with_0(1, 5.3), exited_with_0(2, 5.2)}),
              (Judgement{2, 10, Strength::early_exit, {0, 3, 1}}));
}

TEST(FirstCause, IsNoneOfTheManyThatExitedWith0) {
    EXPECT_EQ(judge({lost(0, 5.3), exited_with_0(1, 5.0), exited_with_0(2, 5.1), exited_with_0(3, 5.0)}),
              (Judgement{0, 10, Strength::lost_peer, {1, 2, 3}}));
}

TEST(FirstCause, IsNoRankThatExitedWith0LongBefore) {
    EXPECT_EQ(judge({lost(0, 5.0), exited_with_0(1, 3.9)}), (Judgement{0, 10, Strength::lost_peer, {1}}));
}

TEST(FirstCause, NobodyMissesAnExitWith0IfARankFailedByItself) {
    EXPECT_EQ(judge({exited(0, 3, "ValueError", 5.0), exited_with_0(1, 4.9)}),
              (Judgement{0, 3, Strength::own_error, {1}}));
}

TEST(FirstCause, IsALostServerWhereMostLostAPeer) {
    const auto server = [](int rank) {
        return exited(rank, 7, "ReadTimeout: HTTPSConnectionPool(host='hub', port=443): Read timed out.");
    };
    EXPECT_EQ(judge({lost(0), lost(1), server(2), lost(3)}), (Judgement{2, 7, Strength::lost_peer, {0, 1, 3}}));
    EXPECT_EQ(judge({server(0), server(1), server(2), lost(3)}), (Judgement{0, 7, Strength::lost_peer, {1, 2, 3}}));
    EXPECT_EQ(judge({lost(0), server(2)}), (Judgement{2, 7, Strength::lost_peer, {0}}));
    EXPECT_EQ(judge({lost(0), lost(1), server(2), exited(3, 4, "KeyError")}),
              (Judgement{3, 4, Strength::own_error, {0, 1, 2}}));
}

/// A rank that shows its error and then closes its connections exits after its peers, or hangs.
TEST(FirstCause, IsTheRankThatHadShownAnErrorWhenOthersExitedWithoutOne) {
    const auto silent = [](int rank, int code) {
        Failure failure = exited(rank, code, "");
        failure.follows_rank = 2;
        return failure;
    };
    EXPECT_EQ(judge({silent(0, 1), silent(1, 1), exited(2, 9, "ValueError: loss is NaN")}),
              (Judgement{2, 9, Strength::own_error, {0, 1}}));
    EXPECT_EQ(judge({silent(0, 1), silent(1, 1), stopped(2)}), (Judgement{2, 1, Strength::named, {0, 1}}));
    EXPECT_EQ(judge({silent(0, 1), exited(1, 5, "KeyError")}), (Judgement{1, 5, Strength::own_error, {0}}));
    Failure recorded = silent(0, 3);
    recorded.record = ErrorRecord{"ValueError: loss is NaN", "", "{}"};
    EXPECT_EQ(judge({recorded, stopped(2)}), (Judgement{0, 3, Strength::crash, {2}}));
}

TEST(FirstCause, SaysThatTheOthersFollowed) {
    Failure silent = exited(0, 1, "");
    silent.follows_rank = 2;
    std::vector<Failure> failures{silent, stopped(2)};
    for (Failure& failure : failures) weigh(failure);
    put_first_cause_first(failures);
    EXPECT_EQ(failures.front().because, "it had shown its error when rank 0 exited");
}

TEST(FirstCause, IsElseTheEarliestExit) {
    EXPECT_EQ(judge({lost(1), lost(0), stopped(2)}), (Judgement{1, 11, Strength::lost_peer, {0, 2}}));
}

TEST(FirstCause, IsARankWithoutMessagesOnlyIfAllOthersLostAPeer) {
    Failure unread = exited(2, 9, "", 5.0);
    unread.is_unread = true;
    EXPECT_EQ(judge({lost(0, 4.0), unread, stopped(1)}), (Judgement{2, 9, Strength::unread, {0, 1}}));
    EXPECT_EQ(judge({unread, exited(1, 4, "KeyError", 5.1)}), (Judgement{1, 4, Strength::own_error, {2}}));
    EXPECT_EQ(judge({unread, exited(0, 7, "rank 1 has left the group"), stopped(1)}),
              (Judgement{1, 9, Strength::named, {2, 0}}));
    EXPECT_EQ(judge({unread, exited_with_0(1, 4.9)}), (Judgement{2, 9, Strength::unread, {1}}));
    unread.record = ErrorRecord{"ValueError: loss is NaN", "", "{}"};
    EXPECT_EQ(judge({exited(1, 4, "KeyError"), unread}), (Judgement{2, 9, Strength::crash, {1}}));
}

TEST(FirstCause, OfStoppedWorkersThereIsNone) {
    EXPECT_EQ(judge({stopped(1), exited_with_0(0, 1)}).strength, Strength::none);
    std::vector<Failure> none;
    EXPECT_EQ(put_first_cause_first(none), Strength::none);
    EXPECT_EQ(exit_status_of(none), 1);
}

TEST(FirstCause, CanBeChosenAgain) {
    std::vector<Failure> failures{exited(0, 7, "rank 2 has left the group"), stopped(2), exited_with_0(1, 1)};
    for (Failure& failure : failures) weigh(failure);
    EXPECT_EQ(put_first_cause_first(failures), Strength::named);
    EXPECT_EQ(put_first_cause_first(failures), Strength::named);
    EXPECT_EQ(failures.front().rank, 2);
    EXPECT_EQ(failures.front().how, ExitKind::stopped);
    drop_early_exits(failures);
    EXPECT_EQ(failures.size(), 2u);
}

TEST(FirstCause, OfOneNodeIsNoneWhereAnotherNodeHasABetterOne) {
    std::vector<Failure> failures{lost(1, 5.0), exited_with_0(0, 4.9)}, all{exited(2, 3, "ValueError", 5.2)};
    for (auto* each : {&failures, &all})
        for (Failure& failure : *each) weigh(failure);
    EXPECT_EQ(put_first_cause_first(failures), Strength::early_exit);
    all.insert(all.begin(), failures.begin(), failures.end());
    EXPECT_EQ(put_first_cause_first(all), Strength::own_error);
    drop_early_exits(all);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].rank, 2);
    EXPECT_EQ(all[1].rank, 1);
}

}  // namespace
}  // namespace dlaunch::agent
