#pragma once
/// Makes well-formed messages from a fuzzer's bytes. Numbers are drawn from few values, so that stamps, rounds and
/// incarnations often fit each other; sometimes they are extreme.

#include <array>
#include <cstdint>
#include <string>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::fuzz {

using namespace rendezvous;

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    [[nodiscard]] bool empty() const { return at_ == end_; }
    std::uint8_t byte() { return empty() ? 0 : *at_++; }
    int below(int limit) { return byte() % limit; }
    bool flag() { return (byte() & 1) != 0; }
    std::string text() {
        static constexpr std::array kTexts{"", "a", "job", "node1", "node2"};
        return kTexts[static_cast<std::size_t>(below(kTexts.size()))];
    }
    std::int32_t number() {
        static constexpr std::array kNumbers{-1, 0, 1, 2, 3, 7, 255, 1 << 20, INT32_MAX, INT32_MIN};
        return kNumbers[static_cast<std::size_t>(below(kNumbers.size()))];
    }
    Stamp stamp() { return {static_cast<std::uint64_t>(below(4)), below(6) - 1, static_cast<std::uint64_t>(below(4))}; }
    JobConfig config() {
        JobConfig job;
        job.min_nodes = 1 + below(3);
        job.max_nodes = job.min_nodes + below(3);
        job.node_timeout = Milliseconds(2'000 + 1'000 * below(8));
        job.restarts.max_restarts = below(3);
        job.restarts.crash_loop = below(4);
        job.scale_up = static_cast<ScaleUp>(below(3));
        return job;
    }
    JobProgress progress() { return {{number(), number(), number(), Milliseconds(byte()), text()}, number()}; }
    LostRanks lost() { return flag() ? LostRanks{{number(), number()}} : LostRanks{}; }
    Cause cause() { return {number(), text(), text(), flag(), text(), lost()}; }
    Join join() {
        Join join;
        join.stamp = stamp();
        join.record.id = std::string(1, static_cast<char>('a' + below(4)));
        join.record.host = text();
        join.record.blocks = {{below(2), number(), text()}};
        if (flag()) join.record.blocks.push_back({below(3), number(), text()});
        join.record.store_port = number();
        if (flag()) join.record.node_rank = number();
        join.record.hosts_coordinator = flag();
        if (flag()) join.last_group_rank = number();
        if (flag()) join.running = RunningRound{number(), number(), flag(), Milliseconds(byte())};
        join.latest_round = flag() ? join.stamp.round : number();
        if (flag()) join.own_config = config();
        if (flag()) join.job = config();
        if (flag()) join.progress = progress();
        join.coordinator = static_cast<std::uint64_t>(below(3));
        return join;
    }
    Assigned assigned() {
        Assigned assigned;
        assigned.stamp = stamp();
        assigned.group_rank = number();
        assigned.group_world_size = number();
        assigned.world_size = number();
        assigned.ranks.blocks = {{number(), number(), number(), number()}};
        if (flag()) assigned.ranks.blocks.push_back({number(), number(), number(), number()});
        assigned.master_port = number();
        assigned.progress = progress();
        return assigned;
    }
    Verdict verdict() { return {number(), text(), {text()}}; }
    Snapshot snapshot() {
        Snapshot snapshot;
        snapshot.epoch = static_cast<std::uint64_t>(below(3));
        snapshot.config = config();
        snapshot.progress = progress();
        snapshot.round = below(6) - 1;
        snapshot.group_size = below(4);
        for (int gone = below(3); gone > 0; --gone) snapshot.gone.push_back(below(5));
        snapshot.nodes = below(4);
        snapshot.round_over = flag();
        snapshot.complete = flag();
        snapshot.restart_reason = text();
        for (int hosts = below(3); hosts > 0; --hosts)
            snapshot.progress.losses.push_back({text(), {byte()}, static_cast<std::uint32_t>(below(2) * 10'000)});
        if (below(4) == 0) snapshot.verdict = verdict();
        if (flag()) snapshot.stop = PendingStop{text(), flag(), text(), std::nullopt, flag(), flag()};
        if (snapshot.stop && flag()) snapshot.stop->verdict = verdict();
        return snapshot;
    }
    Message message() {
        switch (below(12)) {
            case 0: return Hello{flag() ? "1" : text(), flag() ? "job" : text(), byte()};
            case 1: return join();
            case 2: {
                Report report{stamp(), static_cast<Report::Phase>(below(2)), flag(), {}};
                if (flag()) report.cause = cause();
                return report;
            }
            case 3: return Leave{stamp(), static_cast<Leave::Scope>(below(3)), number(), text(), flag(), flag()};
            case 4: return Beat{stamp(), static_cast<std::uint64_t>(number())};
            case 5: return Welcome{stamp(), static_cast<std::uint64_t>(number()), config(), text()};
            case 6: return Refused{flag(), number(), text()};
            case 7: return assigned();
            case 8: return StopRound{stamp(), text(), lost(), flag()};
            case 9: return Notice{stamp(), text(), flag()};
            case 10: return End{stamp(), verdict()};
            default: return Gone{flag()};
        }
    }
    /// A message that the codec accepts.
    bool next(Message& message) {
        const std::string frame = wire::encode(this->message());
        auto decoded = wire::decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(5));
        if (decoded) message = std::move(*decoded);
        return decoded.has_value();
    }
    Milliseconds pause() {
        static constexpr std::array kPauses{0, 1, 50, 400, 1'000, 3'000, 6'000, 60'000, 700'000};
        return Milliseconds(kPauses[static_cast<std::size_t>(below(kPauses.size()))]);
    }

private:
    const std::uint8_t *at_, *end_;
};

/// A peer must be able to decode the messages of a machine.
inline bool is_readable(const Message& message) {
    const std::string frame = wire::encode(message);
    return wire::decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(5)).has_value();
}

}  // namespace dlaunch::fuzz
