#include "rendezvous/wire/frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dlaunch::wire {
namespace {

using Outcome = Frames::Outcome;
using namespace std::string_literals;

const std::string kTwoFrames = "\x41\x03\x00\x00\x00"s + "abc" + "\x60\x00\x00\x00\x00"s;

TEST(Frames, reads_frames_in_any_pieces) {
    for (std::size_t piece = 1; piece <= kTwoFrames.size(); ++piece) {
        Frames frames(16);
        std::vector<std::pair<int, std::string>> got;
        for (std::size_t at = 0; at < kTwoFrames.size(); at += piece) {
            std::string bytes = kTwoFrames.substr(at, piece);
            frames.feed(bytes);
            Frame frame;
            while (frames.next(frame) == Outcome::frame) got.emplace_back(frame.number, frame.payload);
            frames.keep();
            bytes.assign(bytes.size(), '#');  // the buffer may be used again
        }
        EXPECT_EQ(got, (std::vector<std::pair<int, std::string>>{{0x41, "abc"}, {0x60, ""}})) << piece;
    }
}

TEST(Frames, refuses_a_payload_over_the_limit_before_it_arrives) {
    Frames frames(16);
    const std::string bytes = "\x41\x11\x00\x00\x00"s;
    frames.feed(bytes);
    Frame frame;
    EXPECT_EQ(frames.next(frame), Outcome::refused);
    EXPECT_EQ(frames.next(frame), Outcome::refused);
}

TEST(Frames, takes_a_new_limit_for_the_next_frame) {
    Frames frames(2);
    const std::string bytes = "\x41\x02\x00\x00\x00"s + "ab" + "\x42\x03\x00\x00\x00"s + "abc";
    frames.feed(bytes);
    Frame frame;
    ASSERT_EQ(frames.next(frame), Outcome::frame);
    frames.limit(3);
    ASSERT_EQ(frames.next(frame), Outcome::frame);
    EXPECT_EQ(frame.payload, "abc");
}

TEST(Frames, refuses_other_protocols) {
    for (const std::string& bytes :
         {"HTTP/1.1 400 Bad Request\r\n"s, "SSH-2.0-OpenSSH\r\n"s, "\x00\xCE\xF7\x85\x3C"s, "\x16\x03\x01\x02\x00"s}) {
        Frames frames(64 << 20);
        frames.feed(bytes);
        Frame frame;
        EXPECT_EQ(frames.next(frame), Outcome::refused) << bytes;
    }
}

}  // namespace
}  // namespace dlaunch::wire
