#include "rendezvous/wire/rounds.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dlaunch::wire {
namespace {

namespace r = rendezvous;
using namespace std::chrono_literals;
using Outcome = FrameReader::Outcome;

const r::Stamp kStamp{7, 3, 2};

r::JobConfig some_config() {
    r::JobConfig config;
    config.min_nodes = 2;
    config.max_nodes = 4;
    config.restarts.max_restarts = 3;
    config.scale_up = r::ScaleUp::never;
    config.fixed_ranks = true;
    config.master_addr = "node1";
    config.master_port = 29'500;
    config.relays_store = true;
    return config;
}

std::vector<r::Message> one_of_each() {
    const r::NodeRecord node{"n1-17", "node1", "10.0.0.1", "fd00::1", 41234, {{0, 2, "chief"}, {2, 6, "trainer"}},
                             "ps.py", "3",     2,          true,      41236, 41237};
    const r::Cause cause{139,
                         "3 signal 11",
                         "rank 3 (node1, pid 9) was killed by SIGSEGV",
                         true,
                         "{\"rank\":3}",
                         {{3, 1}},
                         {"node2", "10.0.0.2"},
                         4,
                         12ms,
                         "ValueError: loss is NaN"};
    const r::JobProgress progress{{2, 3, 1, std::chrono::milliseconds(400), "1 7 0"}, 4};
    return {r::Hello{"0.1.0", "job", 2},
            r::Join{kStamp, node, 1, r::RunningRound{1, 4, false, 3600s}, 5, 123456789, some_config(), some_config(),
                    progress, 77, "node0"},
            r::Report{kStamp, r::Report::Phase::failed, false, cause},
            r::Report{kStamp, r::Report::Phase::over, true, std::nullopt, 41235, 41236, {{{0, 2}}, {{2, 1}}, {}}},
            r::Leave{kStamp, r::Leave::Scope::job, 84, "the job outlived its time", true, true},
            r::Beat{kStamp, 99, 800ms},
            r::Welcome{kStamp, 98, some_config(), "node1"},
            r::Refused{true, 83, "another job"},
            r::Assigned{kStamp,
                        1,
                        2,
                        16,
                        {{{2, 2, 2, 4}, {6, 8, 0, 6}}},
                        "10.0.0.1",
                        41234,
                        1,
                        3,
                        "node2 was lost",
                        progress,
                        "10.0.0.2",
                        41236},
            r::StopRound{kStamp, "node2 was lost", {{3, 1}, {8, 4}}, true},
            r::StopRound{.stamp = kStamp, .timed_out = true, .unclear = true, .for_failure = true, .hung = true},
            r::Notice{kStamp, "7 of 8 nodes"},
            r::Notice{kStamp, "restarting all workers", false, "rank 3 exited with 1", "ValueError: loss is NaN"},
            r::Notice{kStamp, "waiting as a spare", true},
            r::End{kStamp, {139, "", {"{}", ""}, {}, 7}},
            r::Gone{true},
            r::Standbys{kStamp, {{"10.0.0.1", 41237}, {"fd00::2", 41238}}}};
}

std::optional<r::Message> decode_frame(const std::string& frame) {
    return decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(5));
}

TEST(RoundsWire, every_message_comes_back_as_it_was) {
    for (const auto& message : one_of_each()) EXPECT_EQ(decode_frame(encode(message)), message) << message.index();
}

TEST(RoundsWire, the_bytes_of_hello_and_beat_are_fixed) {
    using namespace std::string_view_literals;
    EXPECT_EQ(encode(r::Hello{"1", "ab", 258}),
              "\x40\x13\0\0\0"
              "\x01\0\0\0"
              "1"
              "\x02\0\0\0"
              "ab"
              "\x02\x01\0\0\0\0\0\0"sv);
    EXPECT_EQ(encode(r::Beat{{1, -1, 2}, 3}),
              "\x44\x20\0\0\0"
              "\x01\0\0\0\0\0\0\0"
              "\xff\xff\xff\xff"
              "\x02\0\0\0\0\0\0\0"
              "\x03\0\0\0\0\0\0\0"
              "\0\0\0\0"sv);
}

TEST(RoundsWire, a_message_that_is_cut_or_has_a_rest_is_refused) {
    for (const auto& message : one_of_each()) {
        const std::string frame = encode(message);
        for (std::size_t size = 5; size < frame.size(); ++size)
            EXPECT_FALSE(decode_frame(frame.substr(0, size))) << message.index();
        const bool of_every_version =
            std::holds_alternative<r::Hello>(message) || std::holds_alternative<r::Refused>(message);
        EXPECT_EQ(decode_frame(frame + "x").has_value(), of_every_version) << message.index();
    }
}

TEST(RoundsWire, numbers_out_of_range_are_refused) {
    auto join = [](auto change) {
        r::Join message{
            kStamp, {"id", "host", "1.2.3.4", "", 1, {{0, 1, ""}, {3, 2, ""}}, "", "", {}, false}, {}, {}, 5, 0, {}};
        change(message);
        return decode_frame(encode(message)).has_value();
    };
    EXPECT_TRUE(join([](r::Join&) {}));
    EXPECT_FALSE(join([](r::Join& m) { m.record.blocks.clear(); }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.blocks[1].count = 0; }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.blocks[1].count = 1 << 20; })) << "and one more";
    EXPECT_FALSE(join([](r::Join& m) { m.record.blocks[0].appnum = -1; }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.blocks[0].appnum = 3; })) << "twice";
    EXPECT_FALSE(join([](r::Join& m) { m.record.store_port = 65'536; }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.jax_port = 65'536; }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.node_rank = -1; }));
    EXPECT_FALSE(join([](r::Join& m) { m.record.id.clear(); }));
    EXPECT_FALSE(join([](r::Join& m) { m.running = r::RunningRound{4, 4}; }));
    EXPECT_FALSE(join([](r::Join& m) { m.running = r::RunningRound{0, INT32_MIN}; }));
    EXPECT_FALSE(join([](r::Join& m) { m.running = r::RunningRound{0, 1, true, 25h}; }));
    EXPECT_FALSE(join([](r::Join& m) { m.progress = r::JobProgress{{.used = -1}, 1}; }));
    EXPECT_FALSE(join([](r::Join& m) { m.latest_round = 2; })) << "its own round is later";
    EXPECT_FALSE(join([](r::Join& m) { m.latest_round = INT32_MAX; })) << "no round could follow";
    EXPECT_FALSE(join([](r::Join& m) { m.job = r::JobConfig{.min_nodes = 0}; }));
    EXPECT_FALSE(decode_frame(encode(r::Leave{kStamp, r::Leave::Scope{9}, 0, ""})));
    auto assigned = [](r::RankLayout ranks) {
        return decode_frame(encode(r::Assigned{kStamp, 0, 1, 8, std::move(ranks)})).has_value();
    };
    EXPECT_TRUE(assigned({{{2, 0, 0, 2}, {2, 6, 1, 3}}}));
    EXPECT_FALSE(assigned({}));
    EXPECT_FALSE(assigned({{{0, 0, 0, 2}}}));
    EXPECT_FALSE(assigned({{{9, 0, 0, 9}}})) << "more than the world";
    EXPECT_FALSE(assigned({{{2, 7, 0, 2}}}));
    EXPECT_FALSE(assigned({{{2, -1, 0, 2}}}));
    EXPECT_FALSE(assigned({{{2, 0, 1, 2}}}));
    EXPECT_FALSE(assigned({{{2, 0, -1, 2}}}));
    EXPECT_FALSE(assigned({{{2, 0, 0, 2}, {2, 1, 0, 2}}})) << "rank 1 twice";
    auto stop = [](r::LostRanks lost) { return decode_frame(encode(r::StopRound{kStamp, "", lost})).has_value(); };
    EXPECT_TRUE(stop({}));
    EXPECT_TRUE(stop({{INT32_MAX - 1, 1}}));
    EXPECT_FALSE(stop({{INT32_MAX, 1}}));
    EXPECT_FALSE(stop({{-1, 1}}));
    EXPECT_FALSE(stop({{0, 0}}));
    EXPECT_TRUE(decode_frame(encode(r::StopRound{.stamp = kStamp, .signal = 15})));
    EXPECT_FALSE(decode_frame(encode(r::StopRound{.stamp = kStamp, .signal = -1})));
    EXPECT_FALSE(decode_frame(encode(r::StopRound{.stamp = kStamp, .signal = 65})));
    EXPECT_FALSE(decode(0x3F, ""));
    EXPECT_FALSE(decode(0xFF, ""));
}

TEST(RoundsWire, long_texts_are_cut_and_long_records_left_out) {
    auto notice = decode_frame(encode(r::Notice{kStamp, std::string(10'000, 'x')}));
    ASSERT_TRUE(notice);
    EXPECT_EQ(std::get<r::Notice>(*notice).text.size(), kMaxText);
    auto end = decode_frame(encode(r::End{kStamp, {1, "", {std::string(kMaxRecord + 1, 'x'), "kept"}}}));
    ASSERT_TRUE(end);
    EXPECT_EQ(std::get<r::End>(*end).verdict.records, (std::vector<std::string>{"", "kept"}));
}

TEST(RoundsWire, a_snapshot_comes_back_as_it_was_and_nothing_else_does) {
    r::Snapshot snapshot{4,
                         some_config(),
                         {{1, 2, 2, std::chrono::milliseconds(200), "lost"}, 3, {{"node2", {5000, 10}, 10'000}}},
                         7,
                         3,
                         {0, 2},
                         5,
                         false,
                         false,
                         "why",
                         r::Verdict{93, "gave up", {"record"}, {{{0, 2}}, {{2, 1}}, {{3, 4}}}},
                         r::PendingStop{"node2 was lost", true, "node2", r::Verdict{143, "SIGTERM", {}}, true, true}};
    const std::string bytes = encode(snapshot);
    EXPECT_EQ(decode_snapshot(bytes), snapshot);
    EXPECT_FALSE(decode_snapshot(bytes + "x"));
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_snapshot(bytes.substr(0, size)));
    snapshot.round = -2;
    EXPECT_FALSE(decode_snapshot(encode(snapshot)));
}

TEST(RoundsWire, a_stream_may_be_split_anywhere) {
    std::string stream;
    for (const auto& message : one_of_each()) stream += encode(message);
    for (std::size_t step : {1UL, 2UL, 7UL, 1000UL}) {
        FrameReader reader;
        std::vector<r::Message> read;
        r::Message message;
        for (std::size_t at = 0; at < stream.size(); at += step) {
            reader.feed(std::string_view(stream).substr(at, step));
            while (reader.next(message) == Outcome::message) read.push_back(message);
        }
        EXPECT_EQ(read, one_of_each()) << step;
    }
}

TEST(RoundsWire, bytes_of_another_protocol_are_refused) {
    using namespace std::string_view_literals;
    for (std::string_view bytes :
         {"HTTP/1.1 400 Bad Request\r\n"sv, "\x44\xff\xff\xff\xff"sv, "\x44\x01\0\0\0x"sv, "\x60\0\0\0\0"sv}) {
        FrameReader reader;
        r::Message message;
        reader.feed(bytes);
        EXPECT_EQ(reader.next(message), Outcome::refused);
        EXPECT_EQ(reader.next(message), Outcome::refused);
    }
}

RC_GTEST_PROP(RoundsWire, any_strings_and_numbers_come_back,
              (std::string text, std::uint64_t number, std::int32_t round)) {
    const r::Stamp stamp{number, round, number / 3};
    for (const r::Message& message :
         {r::Message(r::Hello{text, text, number}), r::Message(r::Notice{stamp, text}),
          r::Message(r::End{stamp, {round, text, {text, text}}}),
          r::Message(r::Report{stamp, r::Report::Phase::over, false, r::Cause{round, text, text, false, text}})})
        RC_ASSERT(decode_frame(encode(message)) == message);
}

RC_GTEST_PROP(RoundsWire, garbage_is_refused_or_means_what_it_encodes,
              (std::vector<std::uint8_t> bytes, std::uint8_t number)) {
    const auto wanted = static_cast<std::uint8_t>(0x40 + number % std::variant_size_v<r::Message>);
    if (auto message = decode(wanted, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())))
        RC_ASSERT(decode_frame(encode(*message)) == *message);
}

}  // namespace
}  // namespace dlaunch::wire
