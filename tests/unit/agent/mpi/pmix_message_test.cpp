#include "agent/mpi/pmix_message.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Kind = PmixMessage::Kind;

const PmixMessage kFence{Kind::fence, {"7", "all/0", "0,1", std::string("a\0b\n", 4)}};
const PmixMessage kReady{Kind::ready, {}};

TEST(PmixMessages, ArriveInAnyPieces) {
    const std::string bytes = encode(kFence) + encode(kReady) + encode(kFence);
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        PmixMessages messages;
        std::vector<PmixMessage> seen;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            messages.add(std::string_view(bytes).substr(at, piece));
            while (auto message = messages.next()) seen.push_back(std::move(*message));
        }
        EXPECT_EQ(seen, (std::vector{kFence, kReady, kFence})) << piece;
    }
}

TEST(PmixMessages, FieldsMayBeEmpty) {
    PmixMessages messages;
    messages.add(encode({Kind::variables, {"0", "", "A="}}));
    EXPECT_EQ(messages.next(), (PmixMessage{Kind::variables, {"0", "", "A="}}));
    EXPECT_EQ(messages.next(), std::nullopt);
}

TEST(PmixMessage, AbsentFieldsAreEmpty) {
    EXPECT_EQ(kFence.number(0), 7);
    EXPECT_EQ(kFence.number(1), 0);
    EXPECT_EQ(kReady.number(0), 0);
    EXPECT_EQ(kReady.text(5), "");
}

}  // namespace
}  // namespace dlaunch::agent
