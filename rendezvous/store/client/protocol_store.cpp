#include "rendezvous/store/client/protocol_store.hpp"

#include <fmt/format.h>

#include "rendezvous/wire/reply_reader.hpp"

namespace dlaunch::store {
namespace {

using base::Error;
using wire::Request;
using wire::StoreOperation;

std::vector<std::string_view> views(Store::Keys keys) { return {keys.begin(), keys.end()}; }

Request about(StoreOperation operation, std::string_view key = {}, std::string_view value = {}) {
    Request request;
    request.operation = operation;
    request.key = key;
    request.value = value;
    return request;
}

Error too_long(const char* what, std::size_t size, std::size_t limit) {
    return {fmt::format("store: {} of {} bytes, expected at most {}", what, size, limit)};
}

/// Checks the limits of a server.
Result<void> check_limits(const Request& request) {
    const bool pairs = request.operation == StoreOperation::multi_set;
    const std::size_t count = pairs ? request.words.size() / 2 : request.words.size();
    if (count > wire::kMaxKeys)
        return Error{fmt::format("store: {} keys at once, expected at most {}", count, wire::kMaxKeys)};
    if (request.key.size() > wire::kMaxKeyBytes) return too_long("a key", request.key.size(), wire::kMaxKeyBytes);
    for (const auto value : {request.value, request.desired})
        if (value.size() > wire::kMaxValueBytes) return too_long("a value", value.size(), wire::kMaxValueBytes);
    std::size_t all = 0;
    for (std::size_t i = 0; i < request.words.size(); ++i) {
        const std::size_t size = request.words[i].size();
        const bool is_value = pairs && i % 2 == 1;
        if (!is_value && size > wire::kMaxKeyBytes) return too_long("a key", size, wire::kMaxKeyBytes);
        if (is_value && size > wire::kMaxValueBytes) return too_long("a value", size, wire::kMaxValueBytes);
        all += 8 + size;
    }
    constexpr std::size_t kMostBytes = wire::kMaxMessageBytes - 9;
    if (all > kMostBytes) return too_long("values at once", all, kMostBytes);
    return {};
}

/// Reads a reply that is known to be complete.
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : rest_(bytes) {}
    std::uint64_t u64() { return wire::get_u64(cut(8)); }
    std::string vector() { return std::string(cut(u64())); }

private:
    std::string_view cut(std::size_t size) {
        const auto head = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return head;
    }
    std::string_view rest_;
};

std::vector<std::string> vectors(Cursor cursor, std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(cursor.vector());
    return all;
}

}  // namespace

base::Error late(const Request& request) {
    constexpr std::size_t kMostNamed = 5;
    std::string what(request.key);
    for (std::size_t i = 0; i < request.words.size(); ++i) {
        if (i == kMostNamed) {
            what += fmt::format(" and {} more", request.words.size() - i);
            break;
        }
        what += fmt::format("{}{}", i > 0 ? ", " : "", request.words[i]);
    }
    const char* verb = request.operation == StoreOperation::wait      ? "wait for"
                       : request.operation == StoreOperation::barrier ? "barrier"
                                                                      : "request";
    return {fmt::format("store: {} {}{}timed out", verb, what, what.empty() ? "" : ": "),
            exit_status::kRendezvousTimeout};
}

Result<std::string> ProtocolStore::collect_reply(const Request& request, const Take& take) {
    std::string reply;
    for (wire::ReplyReader reader(request); !reader.done();) {
        auto more = take(reader.needs());
        if (!more) return more.error();
        reader.take(*more);
        reply += *more;
    }
    return base::text_result(std::move(reply));
}

Result<std::string> ProtocolStore::ask(const Request& request, Time deadline) {
    if (auto fine = check_limits(request); !fine) return fine.error();
    return exchange(request, deadline);
}

Result<void> ProtocolStore::post(const Request& request, Time deadline) {
    if (auto reply = ask(request, deadline); !reply) return reply.error();
    return {};
}

Result<std::int64_t> ProtocolStore::ask_integer(const Request& request, Time deadline) {
    auto reply = ask(request, deadline);
    if (!reply) return reply.error();
    return static_cast<std::int64_t>(wire::get_u64(*reply));
}

Result<void> ProtocolStore::wait_for(std::span<const std::string_view> keys, Time deadline) {
    Request request = about(StoreOperation::wait);
    request.words = keys;
    if (auto fine = check_limits(request); !fine) return fine.error();
    return await(request, deadline);
}

Result<void> ProtocolStore::set(std::string_view key, std::string_view value, Time deadline) {
    return post(about(StoreOperation::set, key, value), deadline);
}

Result<std::string> ProtocolStore::get(std::string_view key, Time deadline) {
    if (auto there = wait_for({&key, 1}, deadline); !there) return there.error();
    auto reply = ask(about(StoreOperation::get, key), deadline);
    if (!reply) return reply.error();
    return base::text_result(Cursor(*reply).vector());
}

Result<std::int64_t> ProtocolStore::add(std::string_view key, std::int64_t delta, Time deadline) {
    Request request = about(StoreOperation::add, key);
    request.integer = delta;
    return ask_integer(request, deadline);
}

Result<std::string> ProtocolStore::compare_set(std::string_view key, std::string_view expected,
                                               std::string_view desired, Time deadline) {
    Request request = about(StoreOperation::compare_set, key, expected);
    request.desired = desired;
    auto reply = ask(request, deadline);
    if (!reply) return reply.error();
    return base::text_result(Cursor(*reply).vector());
}

Result<bool> ProtocolStore::check(Keys keys, Time deadline) {
    const auto words = views(keys);
    Request request = about(StoreOperation::check);
    request.words = words;
    auto reply = ask(request, deadline);
    if (!reply) return reply.error();
    return static_cast<std::uint8_t>(reply->front()) == wire::kReady;
}

Result<void> ProtocolStore::wait(Keys keys, Time deadline) { return wait_for(views(keys), deadline); }

Result<bool> ProtocolStore::delete_key(std::string_view key, Time deadline) {
    auto count = ask_integer(about(StoreOperation::delete_key, key), deadline);
    if (!count) return count.error();
    return *count > 0;
}

Result<void> ProtocolStore::append(std::string_view key, std::string_view bytes, Time deadline) {
    return post(about(StoreOperation::append, key, bytes), deadline);
}

Result<std::vector<std::string>> ProtocolStore::multi_get(Keys keys, Time deadline) {
    const auto words = views(keys);
    if (auto there = wait_for(words, deadline); !there) return there.error();
    Request request = about(StoreOperation::multi_get);
    request.words = words;
    auto reply = ask(request, deadline);
    if (!reply) return reply.error();
    return vectors(Cursor(*reply), keys.size());
}

Result<void> ProtocolStore::multi_set(Pairs pairs, Time deadline) {
    std::vector<std::string_view> words;
    for (const auto& [key, value] : pairs) words.insert(words.end(), {key, value});
    Request request = about(StoreOperation::multi_set);
    request.words = words;
    return post(request, deadline);
}

Result<void> ProtocolStore::queue_push(std::string_view key, std::string_view value, Time deadline) {
    return post(about(StoreOperation::queue_push, key, value), deadline);
}

Result<std::string> ProtocolStore::queue_pop(std::string_view key, Time deadline) {
    for (;;) {
        auto reply = ask(about(StoreOperation::queue_pop, key), deadline);
        if (!reply) return reply.error();
        Cursor cursor(*reply);
        if (cursor.u64() > 0) return base::text_result(cursor.vector());
        // The queue may be empty again after a wake: another client was faster.
        if (auto there = wait_for({&key, 1}, deadline); !there) return there.error();
    }
}

Result<std::int64_t> ProtocolStore::queue_len(std::string_view key, Time deadline) {
    return ask_integer(about(StoreOperation::queue_len, key), deadline);
}

Result<std::vector<std::string>> ProtocolStore::list_keys(Time deadline) {
    auto reply = ask(about(StoreOperation::list_keys), deadline);
    if (!reply) return reply.error();
    Cursor cursor(*reply);
    const std::uint64_t count = cursor.u64();
    return vectors(cursor, count);
}

Result<std::int64_t> ProtocolStore::num_keys(Time deadline) {
    return ask_integer(about(StoreOperation::num_keys), deadline);
}

Result<void> ProtocolStore::barrier(std::string_view key, std::int64_t world_size, Time deadline) {
    Request request = about(StoreOperation::barrier, key);
    request.integer = world_size;
    if (auto fine = check_limits(request); !fine) return fine.error();
    return await(request, deadline);
}

}  // namespace dlaunch::store
