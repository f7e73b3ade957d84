#include "agent/errors/report_lines.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

const std::string kDashes(74, '-');
const Lines kNote{kDashes, "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", "with errorcode 7.",
                  kDashes};

Lines with_note(Lines before, const Lines& after = {}) {
    before.insert(before.end(), kNote.begin(), kNote.end());
    before.insert(before.end(), after.begin(), after.end());
    return before;
}

TEST(LastWords, AreWithoutBlankLinesAndColours) {
    EXPECT_EQ(last_words({"\x1b[31mred\x1b[0m", "", " \t", "10%\r20%"}), (Lines{"red", "20%"}));
}

TEST(LastWords, AreNotOpenMpisNoteOnAnAbort) {
    EXPECT_EQ(last_words(with_note({"the grid is not finite"}, {"bye"})), (Lines{"the grid is not finite", "bye"}));
    EXPECT_EQ(last_words(with_note({"a", kDashes, "b"})), (Lines{"a", kDashes, "b"})) << "a dashed line of the program";
}

TEST(LastWords, AreTheNoteIfThereIsNothingElse) {
    EXPECT_EQ(last_words(kNote), kNote);
    EXPECT_EQ(last_words({kDashes, kNote[1], "cut"}), (Lines{kDashes, kNote[1], "cut"})) << "it has no end";
}

}  // namespace
}  // namespace dlaunch::agent
