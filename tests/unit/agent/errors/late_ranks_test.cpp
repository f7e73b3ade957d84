#include "agent/errors/late_ranks.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

Failure late(int rank, ExitKind how = ExitKind::timed_out) {
    Failure failure;
    failure.rank = rank;
    failure.how = how;
    return failure;
}

Failure with_line(Failure failure, const std::string& line, double age) {
    failure.last_line = line;
    failure.silent_for = std::chrono::duration<double>(age);
    return failure;
}

TEST(LateRanks, TheLastLinesAtAHangAreThoseOfAllRanksThatLived) {
    const Failure hung = with_line(late(1, ExitKind::hung), "step 17", 1.5);
    Failure beside = with_line(late(0, ExitKind::signalled), "step 16", 1.6), mute = late(2, ExitKind::signalled);
    beside.collateral = mute.collateral = true;
    EXPECT_EQ(last_lines({&hung, &beside, &mute}, 9),
              (Lines{"last line of each rank:", "  rank 0, 1.6 s ago: step 16", "  rank 1, 1.5 s ago: step 17"}));
}

TEST(LateRanks, TheStackOfTheFirstRankThatHasOneIsShown) {
    const Failure none = late(0);
    Failure native = late(1);
    native.stack = {"__poll (../sysdeps/unix/sysv/linux/poll.c:29)", "wait (net.cpp:4)", "step (a.cpp:1)", "main"};
    EXPECT_EQ(late_stack({&none, &native}, 4),
              (Lines{"rank 1, innermost frame first:", "__poll (../sysdeps/unix/sysv/linux/poll.c:29)",
                     "wait (net.cpp:4)", "step (a.cpp:1)"}));
    EXPECT_EQ(late_stack({&none}, 4), Lines{});
}

TEST(LateRanks, TheStackOfTheFewestRanksIsShownAndThePlaceOfTheOthers) {
    std::vector<Failure> ranks{late(0), late(1), late(2), late(3)};
    for (Failure& rank : ranks)
        rank.stack = {"__poll (../sysdeps/unix/sysv/linux/poll.c:29)", "barrier (net.cpp:4)", "main (a.cpp:9)"};
    ranks[2].stack = {"compute_forever (a.cpp:5)", "main (a.cpp:9)"};
    EXPECT_EQ(late_stack({&ranks[0], &ranks[1], &ranks[2], &ranks[3]}, 4),
              (Lines{"rank 2, innermost frame first:", "compute_forever (a.cpp:5)", "main (a.cpp:9)",
                     "ranks 0-1, 3 at barrier (net.cpp:4)"}));
    ranks[3].stack = {"main (b.cpp:1)"};
    EXPECT_EQ(late_stack({&ranks[0], &ranks[1], &ranks[2], &ranks[3]}, 3),
              (Lines{"rank 2, innermost frame first:", "compute_forever (a.cpp:5)",
                     "rank 3 at main (b.cpp:1); further stacks are in --report's file"}));
}

TEST(LateRanks, AStackWithoutGdbIsThatOfTheRecord) {
    Failure recorded = late(0);
    recorded.record = ErrorRecord{
        "SIGABRT", "/opt/lib/libdlaunch.so.0.1 +0x7\n/lib/libc.so.6 pause +0x10\n./hang +0x1192\n./hang +0x11a9\n", ""};
    EXPECT_EQ(late_stack({&recorded}, 4), (Lines{"rank 0, innermost frame first:", "/lib/libc.so.6 pause +0x10",
                                                 "./hang +0x1192", "./hang +0x11a9"}));
}

TEST(LateRanks, AStackOnStderrIsNotRepeated) {
    Failure python = late(0);
    python.stderr_tail = {"Current thread 0x1 (most recent call first):", "  File \"a.py\", line 3 in wait_here"};
    EXPECT_EQ(late_stack({&python}, 4),
              (Lines{"rank 0, innermost frame first:", "  File \"a.py\", line 3 in wait_here"}));
    python.is_on_screen = true;
    EXPECT_EQ(late_stack({&python}, 4), Lines{});
}

}  // namespace
}  // namespace dlaunch::agent
