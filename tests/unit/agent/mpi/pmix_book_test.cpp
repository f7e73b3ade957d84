#include "agent/mpi/pmix_book.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

std::string text_of(const std::optional<Verdict>& verdict) {
    return verdict ? std::to_string(verdict->code) + " " + verdict->text : "";
}

TEST(PmixBook, AnExitAfterFinalizeIsTheProgramsOwn) {
    PmixBook book(1);
    EXPECT_EQ(book.connected(0), std::nullopt);
    book.finalized(0);
    EXPECT_FALSE(book.ended(0, 0));
    EXPECT_FALSE(PmixBook(1).ended(0, 3));
}

TEST(PmixBook, AnExitBeforeFinalizeIsAFailure) {
    PmixBook book(2);
    (void)book.connected(0);
    (void)book.connected(1);
    EXPECT_EQ(text_of(book.ended(0, 0)), "1 exited with 0 before MPI_Finalize");
    EXPECT_FALSE(book.ended(1, 5)) << "the status says it already";
}

TEST(PmixBook, EachProgramOfAScriptOwesFinalize) {
    PmixBook book(1);
    (void)book.connected(0);
    book.finalized(0);
    (void)book.connected(0);
    EXPECT_EQ(text_of(book.ended(0, 0)), "1 exited with 0 before MPI_Finalize");
}

TEST(PmixBook, AProgramWithoutMpiOwesNothing) {
    PmixBook book(2);
    EXPECT_FALSE(book.ended(0, 0));
    EXPECT_FALSE(book.ended(1, 0));
    EXPECT_FALSE(book.any_connected());
}

TEST(PmixBook, RanksInMpiWaitForTheRankThatHasEnded) {
    PmixBook before(2), after(2);
    (void)before.connected(0);
    EXPECT_EQ(text_of(before.ended(1, 0)), "1 exited with 0 without MPI_Init");
    EXPECT_FALSE(after.ended(1, 0));
    EXPECT_EQ(after.absent(), 1);
    EXPECT_EQ(after.connected(0), 1);
}

TEST(PmixBook, AnAbortHasTheLowBitsOfItsCode) {
    PmixBook book(3);
    EXPECT_EQ(text_of(book.aborted(0, 7)), "7 called MPI_Abort with 7");
    EXPECT_EQ(text_of(book.aborted(1, 256)), "1 called MPI_Abort with 256");
    EXPECT_EQ(text_of(book.aborted(2, -1)), "255 called MPI_Abort with -1");
    EXPECT_EQ(text_of(book.ended(0, 9)), "7 called MPI_Abort with 7") << "the abort comes first";
}

}  // namespace
}  // namespace dlaunch::agent
