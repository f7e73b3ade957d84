/// One list of fields for each message serves both directions: Writer and Reader are called alike.

#include "rendezvous/wire/rounds.hpp"

#include <algorithm>
#include <concepts>
#include <csignal>
#include <type_traits>
#include <utility>

namespace dlaunch::wire {
namespace {

namespace r = rendezvous;

constexpr std::uint8_t kFirstNumber = 0x40;
constexpr std::size_t kFrameHead = 5;
constexpr std::int32_t kMostWorkers = 1 << 20;

/// A failure record: up to kMaxRecord bytes.
struct Record {
    std::string& text;
};

/// A list of at most kMost elements.
template <class T, std::size_t kMost>
struct List {
    std::vector<T>& all;
};

class Writer {
public:
    explicit Writer(std::string& out) : out_(out) {}

    template <class... Fields>
    void operator()(const Fields&... fields) {
        (write(fields), ...);
    }

private:
    template <std::integral Number>
    void write(Number number) {
        using Bits = std::make_unsigned_t<std::conditional_t<std::same_as<Number, bool>, char, Number>>;
        auto bits = static_cast<Bits>(number);
        for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
            out_.push_back(static_cast<char>(bits & 0xFF));
            bits = static_cast<Bits>(static_cast<std::uint64_t>(bits) >> 8);
        }
    }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void write(Enum value) { write(static_cast<std::uint8_t>(value)); }
    void write_bytes(std::string_view text) {
        write(static_cast<std::uint32_t>(text.size()));
        out_.append(text);
    }
    void write(const std::string& text) { write_bytes(std::string_view(text).substr(0, kMaxText)); }
    void write(const Record& record) {
        write_bytes(record.text.size() > kMaxRecord ? std::string_view() : record.text);
    }
    void write(std::chrono::milliseconds time) {
        write(static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, UINT32_MAX)));
    }
    template <class T, std::size_t kMost>
    void write(const List<T, kMost>& list) {
        const std::size_t count = std::min(list.all.size(), kMost);
        write(static_cast<std::uint32_t>(count));
        for (std::size_t at = 0; at < count; ++at) write(list.all[at]);
    }
    void write(const std::vector<std::string>& records) {
        const std::size_t count = std::min(records.size(), kMaxRecords);
        write(static_cast<std::uint32_t>(count));
        for (std::size_t at = 0; at < count; ++at)
            write_bytes(records[at].size() > kMaxRecord ? std::string_view() : records[at]);
    }
    template <class T>
    void write(const std::optional<T>& value) {
        write(value.has_value());
        if (value) write(*value);
    }
    template <class T>
    requires std::is_class_v<T>
    void write(const T& part);

    std::string& out_;
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <class... Fields>
    void operator()(Fields&&... fields) {
        (read(fields), ...);
    }
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] bool at_end() const { return bytes_.empty(); }

private:
    template <std::integral Number>
    void read(Number& number) {
        if (bytes_.size() < sizeof(Number)) return fail();
        std::uint64_t bits = 0;
        for (std::size_t byte = 0; byte < sizeof(Number); ++byte)
            bits |= std::uint64_t{static_cast<unsigned char>(bytes_[byte])} << (8 * byte);
        bytes_.remove_prefix(sizeof(Number));
        if constexpr (std::same_as<Number, bool>) {
            if (bits > 1) return fail();
            number = bits == 1;
        } else {
            number = static_cast<Number>(bits);
        }
    }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void read(Enum& value) {
        std::uint8_t number = 0;
        read(number);
        value = static_cast<Enum>(number);
    }
    void read_bytes(std::string& text, std::size_t limit) {
        std::uint32_t size = 0;
        read(size);
        if (!good_ || size > limit || size > bytes_.size()) return fail();
        text.assign(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
    }
    void read(std::string& text) { read_bytes(text, kMaxText); }
    void read(Record& record) { read_bytes(record.text, kMaxRecord); }
    void read(std::chrono::milliseconds& time) {
        std::uint32_t count = 0;
        read(count);
        time = std::chrono::milliseconds(count);
    }
    template <class T, std::size_t kMost>
    void read(List<T, kMost>& list) {
        std::uint32_t count = 0;
        read(count);
        if (count > kMost) return fail();
        list.all.clear();
        for (; good_ && count > 0; --count) read(list.all.emplace_back());
    }
    void read(std::vector<std::string>& records) {
        std::uint32_t count = 0;
        read(count);
        if (count > kMaxRecords) return fail();
        for (; good_ && count > 0; --count) read_bytes(records.emplace_back(), kMaxRecord);
    }
    template <class T>
    void read(std::optional<T>& value) {
        bool there = false;
        read(there);
        if (good_ && there) read(value.emplace());
    }
    template <class T>
    requires std::is_class_v<T>
    void read(T& part);

    void fail() {
        good_ = false;
        bytes_ = {};
    }

    std::string_view bytes_;
    bool good_ = true;
};

// --- the fields, in their order on the wire -------------------------------------------------------------------------

void fields(auto& a, r::Stamp& m) { a(m.epoch, m.round, m.incarnation); }
void fields(auto& a, r::Hello& m) { a(m.version, m.job_id, m.incarnation); }
void fields(auto& a, r::WorkerBlock& m) { a(m.appnum, m.count, m.role); }
void fields(auto& a, r::NodeRecord& m) {
    List<r::WorkerBlock, r::kMostContexts> blocks{m.blocks};
    a(m.id, m.host, m.address, m.other_address, m.store_port, blocks, m.program, m.order_key, m.node_rank,
      m.hosts_coordinator, m.jax_port);
}
void fields(auto& a, r::RestartLimits& m) { a(m.max_restarts, m.first, m.most, m.healthy, m.crash_loop); }
void fields(auto& a, r::CooldownLimits& m) { a(m.first, m.most); }
void fields(auto& a, r::JobConfig& m) {
    a(m.min_nodes, m.max_nodes, m.last_call, m.join_timeout, m.node_timeout, m.restarts, m.cooldown, m.scale_up,
      m.fixed_ranks, m.master_addr, m.master_port);
}
void fields(auto& a, r::RestartCounters& m) { a(m.used, m.quick_in_a_row, m.alike_in_a_row, m.pause, m.kind); }
void fields(auto& a, r::HostLosses& m) {
    List<std::uint32_t, kMaxLosses> ages{m.ages_ms};
    a(m.host, ages, m.cooldown_ms);
}
void fields(auto& a, r::JobProgress& m) {
    List<r::HostLosses, kMaxHosts> losses{m.losses};
    a(m.restarts, m.first_group_size, losses);
}
void fields(auto& a, r::RankRange& m) { a(m.first, m.count); }
void fields(auto& a, r::RankOutcomes& m) {
    List<r::RankRange, kMostWorkers> stopped{m.stopped}, finished{m.finished}, outlived{m.outlived};
    a(stopped, finished, outlived);
}
void fields(auto& a, r::Verdict& m) { a(m.status, m.reason, m.records, m.outcomes); }
void fields(auto& a, r::PendingStop& m) { a(m.reason, m.excuses, m.lost_host, m.verdict, m.with_causes, m.yields); }
void fields(auto& a, r::Snapshot& m) {
    List<std::int32_t, kMostWorkers> gone{m.gone};
    a(m.epoch, m.config, m.progress, m.round, m.group_size, gone, m.nodes, m.round_over, m.complete, m.restart_reason,
      m.verdict, m.stop);
}
void fields(auto& a, r::RunningRound& m) { a(m.group_rank, m.group_world_size, m.alive, m.age); }
void fields(auto& a, r::Join& m) {
    a(m.stamp, m.record, m.last_group_rank, m.running, m.latest_round, m.beat, m.own_config, m.job, m.progress,
      m.coordinator, m.coordinator_host);
}
void fields(auto& a, r::RankBlock& m) { a(m.count, m.first_rank, m.first_role_rank, m.role_world_size); }
void fields(auto& a, r::RankLayout& m) {
    List<r::RankBlock, r::kMostContexts> blocks{m.blocks};
    a(blocks);
}
void fields(auto& a, r::Cause& m) {
    Record record{m.record};
    List<r::RankRange, r::kMostContexts> lost{m.lost};
    a(m.status, m.kind, m.summary, m.permanent, lost, m.strength, record);
}
void fields(auto& a, r::Report& m) { a(m.stamp, m.phase, m.succeeded, m.store_port, m.jax_port, m.outcomes, m.cause); }
void fields(auto& a, r::Leave& m) { a(m.stamp, m.scope, m.status, m.reason, m.workers_too, m.at_once); }
void fields(auto& a, r::Beat& m) { a(m.stamp, m.number, m.pause); }
void fields(auto& a, r::Welcome& m) { a(m.stamp, m.beat, m.job, m.host); }
void fields(auto& a, r::Refused& m) { a(m.rejoin, m.status, m.reason); }
void fields(auto& a, r::Assigned& m) {
    a(m.stamp, m.group_rank, m.group_world_size, m.world_size, m.ranks, m.master_addr, m.master_port, m.restart_count,
      m.max_restarts, m.restart_reason, m.progress, m.jax_addr, m.jax_port);
}
void fields(auto& a, r::StopRound& m) {
    List<r::RankRange, r::kMostContexts> lost{m.lost};
    a(m.stamp, m.reason, lost, m.at_once, m.signal, m.timed_out, m.unclear);
}
void fields(auto& a, r::Notice& m) { a(m.stamp, m.text); }
void fields(auto& a, r::Gone& m) { a(m.returns); }
void fields(auto& a, r::End& m) { a(m.stamp, m.verdict); }

template <class T>
requires std::is_class_v<T>
void Writer::write(const T& part) {
    fields(*this, const_cast<T&>(part));  // fields() serves both directions; a Writer changes nothing
}

template <class T>
requires std::is_class_v<T>
void Reader::read(T& part) { fields(*this, part); }

// --- ranges ---------------------------------------------------------------------------------------------------------

bool within(std::int32_t value, std::int32_t low, std::int32_t high) { return value >= low && value <= high; }
bool is_place(std::int32_t value, std::int32_t count) { return value >= 0 && value < count; }

bool sane(const auto&) { return true; }
bool sane(const r::LostRanks& m) {
    return std::all_of(m.begin(), m.end(), [](const r::RankRange& range) {
        return range.first >= 0 && within(range.count, 1, kMostWorkers) && range.first <= INT32_MAX - range.count;
    });
}
bool sane(const r::RankOutcomes& m) { return sane(m.stopped) && sane(m.finished) && sane(m.outlived); }
bool sane(const r::Report& m) {
    return m.phase <= r::Report::Phase::over && sane(m.outcomes) && (!m.cause || sane(m.cause->lost)) &&
           within(m.store_port, 0, 65'535) && within(m.jax_port, 0, 65'535);
}
bool sane(const r::StopRound& m) { return sane(m.lost) && within(m.signal, 0, SIGRTMAX); }
bool sane(const r::Leave& m) { return m.scope <= r::Leave::Scope::job; }
bool sane(const r::RestartCounters& m) { return m.used >= 0 && m.quick_in_a_row >= 0 && m.alike_in_a_row >= 0; }
bool sane(const r::JobProgress& m) { return sane(m.restarts) && within(m.first_group_size, 0, kMostWorkers); }
bool sane(const r::JobConfig& m) {
    return within(m.min_nodes, 1, kMostWorkers) && within(m.max_nodes, m.min_nodes, kMostWorkers) &&
           m.node_timeout >= std::chrono::milliseconds(1) && m.node_timeout <= std::chrono::hours(24) &&
           m.restarts.max_restarts >= 0 && m.restarts.crash_loop >= 0 && m.scale_up <= r::ScaleUp::never &&
           within(m.master_port.value_or(0), 0, 65'535);
}
bool sane(const r::Welcome& m) { return sane(m.job); }
bool sane(const r::Snapshot& m) {
    return sane(m.config) && sane(m.progress) && m.round >= -1 && within(m.group_size, 0, kMostWorkers) &&
           within(m.nodes, 0, kMostWorkers);
}
bool sane(const r::RunningRound& m) {
    return m.group_world_size <= kMostWorkers && is_place(m.group_rank, m.group_world_size) &&
           m.age <= std::chrono::hours(24);
}
bool sane(const std::vector<r::WorkerBlock>& blocks) {
    std::int32_t latest = -1, workers = 0;
    for (const r::WorkerBlock& block : blocks) {
        if (!within(block.appnum, latest + 1, kMostWorkers) || !within(block.count, 1, kMostWorkers - workers))
            return false;
        latest = block.appnum;
        workers += block.count;
    }
    return workers > 0;
}
bool sane(const r::Join& m) {
    return (!m.running || sane(*m.running)) && (!m.own_config || sane(*m.own_config)) && (!m.job || sane(*m.job)) &&
           (!m.progress || sane(*m.progress)) && m.latest_round < INT32_MAX - kMostWorkers &&
           m.stamp.round <= m.latest_round && !m.record.id.empty() && within(m.record.store_port, 0, 65'535) &&
           within(m.record.jax_port, 0, 65'535) && sane(m.record.blocks) && m.record.node_rank.value_or(0) >= 0;
}
bool sane(const r::RankLayout& m, std::int32_t world_size) {
    std::int32_t end = 0, workers = 0;  // ranks ascend from block to block
    for (const r::RankBlock& block : m.blocks) {
        if (!within(block.count, 1, kMostWorkers - workers) || block.count > world_size ||
            !within(block.first_rank, end, world_size - block.count) || block.role_world_size < block.count ||
            !within(block.first_role_rank, 0, block.role_world_size - block.count))
            return false;
        end = block.first_rank + block.count;
        workers += block.count;
    }
    return workers > 0;
}
bool sane(const r::Assigned& m) {
    return is_place(m.group_rank, m.group_world_size) && sane(m.ranks, m.world_size) &&
           within(m.master_port, 0, 65'535) && within(m.jax_port, 0, 65'535) && sane(m.progress);
}

template <class T>
std::optional<r::Message> read_as(std::string_view payload) {
    constexpr bool kMayBeLonger = std::same_as<T, r::Hello> || std::same_as<T, r::Refused>;
    T message;
    Reader reader(payload);
    reader(message);
    if (!reader.good() || !(reader.at_end() || kMayBeLonger) || !sane(message)) return std::nullopt;
    return message;
}

template <std::size_t... Places>
std::optional<r::Message> read_place(std::size_t place, std::string_view payload, std::index_sequence<Places...>) {
    std::optional<r::Message> message;
    ((place == Places ? void(message = read_as<std::variant_alternative_t<Places, r::Message>>(payload)) : void()),
     ...);
    return message;
}

}  // namespace

std::string encode(const r::Message& message) {
    std::string frame(kFrameHead, '\0');
    Writer writer(frame);
    std::visit([&](const auto& alternative) { writer(alternative); }, message);
    const auto size = static_cast<std::uint32_t>(frame.size() - kFrameHead);
    frame[0] = static_cast<char>(kFirstNumber + message.index());
    for (std::size_t byte = 0; byte < 4; ++byte) frame[1 + byte] = static_cast<char>(size >> (8 * byte) & 0xFF);
    return frame;
}

std::string encode(const r::Snapshot& snapshot) {
    std::string bytes;
    Writer writer(bytes);
    writer(snapshot);
    return bytes;
}

std::optional<r::Snapshot> decode_snapshot(std::string_view bytes) {
    r::Snapshot snapshot;
    Reader reader(bytes);
    reader(snapshot);
    if (!reader.good() || !reader.at_end() || !sane(snapshot)) return std::nullopt;
    return snapshot;
}

std::optional<r::Message> decode(std::uint8_t number, std::string_view payload) {
    if (number < kFirstNumber) return std::nullopt;
    return read_place(number - std::size_t{kFirstNumber}, payload,
                      std::make_index_sequence<std::variant_size_v<r::Message>>());
}

void FrameReader::feed(std::string_view bytes) {
    decoder_.feed(bytes);
    decoder_.keep();
}

FrameReader::Outcome FrameReader::next(r::Message& message) {
    if (refused_) return Outcome::refused;
    Request request;
    const auto outcome = decoder_.next(request);
    if (outcome == Decoder::Outcome::more) return Outcome::more;
    auto read = outcome == Decoder::Outcome::request ? decode(request.number, request.value) : std::nullopt;
    refused_ = !read;
    if (refused_) return Outcome::refused;
    message = std::move(*read);
    return Outcome::message;
}

}  // namespace dlaunch::wire
