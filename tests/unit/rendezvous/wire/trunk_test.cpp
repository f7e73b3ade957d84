#include "rendezvous/wire/trunk.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rendezvous/wire/frames.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::wire {
namespace {

using Kind = TrunkFrame::Kind;

std::vector<std::string> frames_of(const std::string& bytes) {
    std::vector<std::string> all;
    Frames frames(kMostPiece + 4);
    frames.feed(bytes);
    for (Frame frame; frames.next(frame) == Frames::Outcome::frame;) {
        const auto decoded = decode_trunk(frame.number, frame.payload);
        if (!decoded) return {"refused"};
        all.push_back(fmt::format("{} {} {} {}", static_cast<int>(decoded->kind), decoded->channel,
                                  decoded->bytes.substr(0, 9), decoded->credit));
    }
    return all;
}

TEST(Trunk, frames_have_these_bytes) {
    std::string bytes;
    put_hello(bytes, "key");
    put_data(bytes, 7, "hi");
    put_close(bytes, 7);
    put_credit(bytes, 258, 3);
    put_join(bytes, 9);
    put_leave(bytes, 9);
    EXPECT_EQ(bytes, hex("70 03000000") + "key" + hex("71 06000000 07000000") + "hi" + hex("72 04000000 07000000") +
                         hex("73 08000000 02010000 03000000 74 04000000 09000000 75 04000000 09000000"));
    EXPECT_EQ(frames_of(bytes), (std::vector<std::string>{"112 0 key 0", "113 7 hi 0", "114 7  0", "115 258  3",
                                                          "116 9  0", "117 9  0"}));
}

TEST(Trunk, long_data_is_cut_into_pieces) {
    std::string bytes;
    put_data(bytes, 1, std::string(2 * kMostPiece + 1, 'x'));
    EXPECT_EQ(frames_of(bytes), (std::vector<std::string>{"113 1 xxxxxxxxx 0", "113 1 xxxxxxxxx 0", "113 1 x 0"}));
}

TEST(Trunk, other_frames_are_refused) {
    const std::string one = hex("01000000");
    for (const auto& [number, payload] :
         std::vector<std::pair<int, std::string>>{{0x6F, "key"},
                                                  {0x76, one},
                                                  {0x71, ""},
                                                  {0x71, one},
                                                  {0x71, one.substr(1)},
                                                  {0x71, one + std::string(kMostPiece + 1, 'x')},
                                                  {0x72, ""},
                                                  {0x72, one + "x"},
                                                  {0x74, ""},
                                                  {0x75, one + "x"},
                                                  {0x73, one},
                                                  {0x73, one + one + "x"},
                                                  {0x73, one + "xxx"}})
        EXPECT_FALSE(decode_trunk(static_cast<std::uint8_t>(number), payload)) << number << " " << payload.size();
}

TEST(Trunk, keys_differ_by_version_job_and_round) {
    const std::string key = trunk_key("1.0", "job", 3);
    EXPECT_EQ(key, trunk_key("1.0", "job", 3));
    for (const auto& other : {trunk_key("1.1", "job", 3), trunk_key("1.0", "jo", 3), trunk_key("1.0", "job", 2),
                              trunk_key("1.0j", "ob", 3)})
        EXPECT_NE(key, other);
}

}  // namespace
}  // namespace dlaunch::wire
