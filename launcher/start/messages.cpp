#include "launcher/start/messages.hpp"

#include <bit>
#include <cstring>

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kFrameHead = 5;
constexpr std::uint64_t kMostStrings = 1 << 20;

/// Writes and reads the same list of fields.
class Writer {
public:
    void operator()(const std::string& text) { wire::put_vector(bytes_, text); }
    void operator()(std::uint64_t number) { wire::put_u64(bytes_, number); }
    void operator()(const std::vector<std::string>& all) {
        wire::put_u64(bytes_, all.size());
        for (const std::string& each : all) (*this)(each);
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t number() {
        if (bytes_.size() < 8) return fail();
        const std::uint64_t found = wire::get_u64(bytes_);
        bytes_.remove_prefix(8);
        return found;
    }
    std::string text() {
        const std::uint64_t size = number();
        if (size > bytes_.size()) return fail(), std::string();
        std::string found(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
        return found;
    }
    std::vector<std::string> texts() {
        std::uint64_t count = number();
        if (count > kMostStrings) count = fail();
        std::vector<std::string> found;
        for (; count > 0 && good_; --count) found.push_back(text());
        return found;
    }
    [[nodiscard]] bool is_whole() const { return good_ && bytes_.empty(); }

private:
    std::uint64_t fail() {
        good_ = false;
        bytes_ = {};
        return 0;
    }

    std::string_view bytes_;
    bool good_ = true;
};

template <class Value>
std::optional<Value> whole(const Reader& reader, Value&& value) {
    if (!reader.is_whole()) return std::nullopt;
    return std::forward<Value>(value);
}

}  // namespace

std::string encode(FrameKind kind, std::string_view payload) {
    std::string frame(1, static_cast<char>(kind));
    frame.reserve(kFrameHead + payload.size());
    wire::put_u32(frame, static_cast<std::uint32_t>(payload.size()));
    return frame.append(payload);
}

std::string encode(const NodeHello& hello) {
    Writer write;
    write(hello.version), write(hello.key), write(hello.name);
    return encode(FrameKind::hello, write.bytes());
}

std::optional<NodeHello> decode_hello(std::string_view payload) {
    Reader read(payload);
    NodeHello hello;
    hello.version = read.text(), hello.key = read.text(), hello.name = read.text();
    return whole(read, std::move(hello));
}

std::string encode(const NodeOrder& order) {
    Writer write;
    write(order.name), write(order.order_key), write(order.folder), write(order.words), write(order.variables);
    write(std::uint64_t{order.keeps_own_variables}), write(order.coordinator_port);
    write(std::uint64_t{order.prints}), write(std::uint64_t{order.has_input});
    write(std::uint64_t{order.relays_output}), write(std::uint64_t{order.terminals});
    write(std::uint64_t{order.collects_logs});
    return encode(FrameKind::begin, write.bytes());
}

std::optional<NodeOrder> decode_order(std::string_view payload) {
    Reader read(payload);
    NodeOrder order;
    order.name = read.text(), order.order_key = read.text(), order.folder = read.text();
    order.words = read.texts(), order.variables = read.texts();
    order.keeps_own_variables = read.number() != 0;
    order.coordinator_port = static_cast<std::uint16_t>(read.number());
    order.prints = read.number() != 0, order.has_input = read.number() != 0;
    order.relays_output = read.number() != 0, order.terminals = static_cast<std::uint8_t>(read.number());
    order.collects_logs = read.number() != 0;
    return whole(read, std::move(order));
}

std::string encode(const Taken& taken) {
    Writer write;
    write(static_cast<std::uint64_t>(taken.stream)), write(taken.bytes);
    return encode(FrameKind::taken, write.bytes());
}

std::optional<Taken> decode_taken(std::string_view payload) {
    Reader read(payload);
    Taken taken;
    taken.stream = static_cast<FrameKind>(read.number());
    taken.bytes = static_cast<std::uint32_t>(read.number());
    if (taken.stream < FrameKind::input || taken.stream > FrameKind::data) return std::nullopt;
    return whole(read, std::move(taken));
}

std::string encode(const NodeEnd& end) {
    Writer write;
    write(static_cast<std::uint64_t>(static_cast<std::uint32_t>(end.status))), write(end.reason);
    return encode(FrameKind::ended, write.bytes());
}

std::optional<NodeEnd> decode_end(std::string_view payload) {
    Reader read(payload);
    NodeEnd end;
    end.status = static_cast<std::int32_t>(read.number());
    end.reason = read.text();
    return whole(read, std::move(end));
}

std::string encode(const agent::FrontNotice& notice) {
    Writer write;
    const auto& [rank, local_rank, pid, exit_status, max_rss_kib, user_seconds, system_seconds, role] = notice.worker;
    for (const std::int32_t number : {static_cast<std::int32_t>(notice.kind), notice.round, notice.nodes, notice.reads,
                                      rank, local_rank, pid, exit_status})
        write(std::uint64_t{static_cast<std::uint32_t>(number)});
    write(static_cast<std::uint64_t>(max_rss_kib));
    write(std::bit_cast<std::uint64_t>(user_seconds)), write(std::bit_cast<std::uint64_t>(system_seconds));
    write(std::string(role.data(), strnlen(role.data(), role.size())));
    return encode(FrameKind::notice, write.bytes());
}

std::optional<agent::FrontNotice> decode_notice(std::string_view payload) {
    Reader read(payload);
    agent::FrontNotice notice;
    notice.kind = static_cast<agent::FrontNotice::Kind>(read.number());
    auto& [rank, local_rank, pid, exit_status, max_rss_kib, user_seconds, system_seconds, role] = notice.worker;
    for (std::int32_t* number : {&notice.round, &notice.nodes, &notice.reads, &rank, &local_rank, &pid, &exit_status})
        *number = static_cast<std::int32_t>(read.number());
    max_rss_kib = static_cast<std::int64_t>(read.number());
    user_seconds = std::bit_cast<double>(read.number());
    system_seconds = std::bit_cast<double>(read.number());
    read.text().copy(role.data(), role.size() - 1);
    return whole(read, std::move(notice));
}

}  // namespace dlaunch::launcher
