#include "agent/services/store_client.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rendezvous/net/addresses.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::agent {
namespace {

using base::Error;
using base::Result;
using wire::StoreOperation;

constexpr auto kPause = std::chrono::milliseconds(50);  // between two attempts to connect
constexpr std::int64_t kNonce = 0x6d706931;
constexpr std::string_view kMissing{"\0missing", 8};  // no value that find() is asked for begins with a null byte

std::vector<std::string_view> views(const std::vector<std::string>& keys) { return {keys.begin(), keys.end()}; }

std::string encoded(const wire::Request& request) {
    std::string bytes;
    wire::encode(request, bytes);
    return bytes;
}

wire::Request about(StoreOperation operation, std::string_view key, std::string_view value = {}) {
    wire::Request request;
    request.operation = operation;
    request.key = key;
    request.value = value;
    return request;
}

std::string about_keys(StoreOperation operation, const std::vector<std::string>& keys) {
    const auto words = views(keys);
    wire::Request request;
    request.operation = operation;
    request.words = words;
    return encoded(request);
}

}  // namespace

StoreClient::StoreClient(base::Loop& loop, std::string host, int port)
    : loop_(loop), host_(std::move(host)), port_(port), address_(rendezvous::is_numeric(host_) ? host_ : "") {}

// --- calls -----------------------------------------------------------------------------------------------------------

/// A SET has no reply: the CHECK after it shows that the store has taken it.
void StoreClient::set(std::string_view key, std::string_view value, Done done) {
    add({.steps = {{encoded(about(StoreOperation::set, key, value))},
                   {about_keys(StoreOperation::check, {std::string(key)}), Reply::byte}},
         .done = std::move(done)});
}

void StoreClient::exchange(std::string_view key, std::string_view value, const std::vector<std::string>& keys,
                           Done done) {
    add({.steps = {{encoded(about(StoreOperation::set, key, value))},
                   {about_keys(StoreOperation::wait, keys), Reply::byte},
                   {about_keys(StoreOperation::multi_get, keys), Reply::values, keys.size()}},
         .done = std::move(done)});
}

void StoreClient::get(const std::vector<std::string>& keys, Done done) {
    add({.steps = {{about_keys(StoreOperation::wait, keys), Reply::byte},
                   {about_keys(StoreOperation::multi_get, keys), Reply::values, keys.size()}},
         .done = std::move(done)});
}

/// COMPARE_SET of a missing key with an expected value returns that value and sets nothing.
void StoreClient::find(std::string_view key, Done done) {
    wire::Request request = about(StoreOperation::compare_set, key, kMissing);
    request.desired = kMissing;
    add({.steps = {{encoded(request), Reply::values, 1}}, .done = std::move(done), .finds = true});
}

/// COMPARE_SET with nothing expected; repeated, it finds the value that it has set.
void StoreClient::set_if_missing(std::string_view key, std::string_view value, Done done) {
    wire::Request request = about(StoreOperation::compare_set, key);
    request.desired = value;
    add({.steps = {{encoded(request), Reply::values, 1}}, .done = std::move(done)});
}

void StoreClient::remove(std::string_view key, Done done) {
    add({.steps = {{encoded(about(StoreOperation::delete_key, key)), Reply::number}}, .done = std::move(done)});
}

void StoreClient::add(Call call) {
    calls_.push_back(std::move(call));
    if (calls_.size() > 1) return;
    loop_.post([this, alive = std::weak_ptr<const bool>(alive_)] {
        if (!alive.expired()) begin_call();
    });
}

// --- the connection --------------------------------------------------------------------------------------------------

void StoreClient::connect() {
    again_ = {};
    if (!address_.empty()) return dial(address_);
    look_up_ = base::Background(loop_, [this, host = host_]() -> std::function<void()> {
        return [this, found = rendezvous::addresses_of(host)] {
            if (!found) return retry(found.error().text);
            if (found->empty()) return retry("the name has no address");
            address_ = found->front();
            dial(address_);
        };
    });
}

void StoreClient::dial(const std::string& address) {
    const auto place = rendezvous::socket_address(address, port_);
    if (!place) return fail(place.error().text);
    socket_.reset(socket(place->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return retry(std::strerror(errno));
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&place->storage), place->size) != 0 &&
        errno != EINPROGRESS)
        return retry(std::strerror(errno));
    wire::Request ping;
    ping.operation = StoreOperation::ping;
    ping.integer = kNonce;
    unsent_ = std::string(wire::kGreeting) + encoded(ping);
    awaited_ = true;
    watch_ = loop_.writable(socket_.get(), [this] { flush(); });
}

/// The store may not listen yet, or not any more: a stop of the round ends the attempts.
void StoreClient::retry(const std::string& why) {
    const base::Time now = base::Clock::now();
    if (greeted_ || patience_ends_ == base::Time{}) patience_ends_ = now + kPatience;
    greeted_ = awaited_ = false;
    watch_ = {};
    socket_.reset();
    unsent_.clear();
    received_.clear();
    values_.clear();
    if (calls_.empty()) return;  // the next call connects
    if (now > patience_ends_) return fail(why);
    calls_.front().at = 0;
    again_ = loop_.after(kPause, [this] { connect(); });
}

void StoreClient::fail(const std::string& why) {
    lost_ = fmt::format("the round's store at {}:{}: {}", host_, port_, why);
    begin_call();
}

/// Begins the first call in the queue unless it has begun, or fails all calls.
void StoreClient::begin_call() {
    while (!lost_.empty() && !calls_.empty()) {
        const Done done = std::move(calls_.front().done);
        calls_.pop_front();
        const std::weak_ptr<const bool> alive = alive_;
        if (done) done(Error{lost_, exit_status::kCoordinatorLost});
        if (alive.expired()) return;
    }
    if (calls_.empty() || awaited_) return;
    if (greeted_) return send_step();
    if (!socket_ && !again_ && !look_up_.busy()) connect();
}

/// Sends the step in progress and those before the next reply.
void StoreClient::send_step() {
    Call& call = calls_.front();
    while (call.steps[call.at].reply == Reply::none) unsent_ += call.steps[call.at++].request;
    unsent_ += call.steps[call.at].request;
    awaited_ = true;
    watch_ = {};
    watch_ = loop_.writable(socket_.get(), [this] { flush(); });
}

void StoreClient::flush() {
    while (!unsent_.empty()) {
        const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) return;
        if (sent < 0) return retry(std::strerror(errno));
        unsent_.erase(0, static_cast<std::size_t>(sent));
    }
    watch_ = {};
    watch_ = loop_.readable(socket_.get(), [this] { read(); });
}

void StoreClient::read() {
    std::array<char, 65536> bytes;
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return retry(got == 0 ? "it closed the connection" : std::strerror(errno));
    received_.append(bytes.data(), static_cast<std::size_t>(got));
    const std::weak_ptr<const bool> alive = alive_;
    while (!alive.expired() && awaited_ && take_reply()) {}
}

bool StoreClient::take_reply() {
    if (!greeted_) {
        std::string expected;
        wire::put_u32(expected, static_cast<std::uint32_t>(kNonce));
        if (received_.size() < expected.size()) return false;
        if (received_.substr(0, expected.size()) != expected) {
            fail("this is no store");
            return false;
        }
        received_.erase(0, expected.size());
        greeted_ = true;
        awaited_ = false;
        begin_call();
        return true;
    }
    const Step& step = calls_.front().steps[calls_.front().at];
    const std::size_t fixed = step.reply == Reply::byte ? 1 : step.reply == Reply::number ? 8 : 0;
    if (received_.size() < fixed || !take_values(step.values)) return false;
    if (step.reply == Reply::number) values_ = {std::to_string(wire::get_u64(received_))};
    received_.erase(0, fixed);
    awaited_ = false;
    end_step(std::exchange(values_, {}));
    return true;
}

/// Takes those that have arrived, each once, so that the cost of a long reply is linear. False: some are missing.
bool StoreClient::take_values(std::size_t count) {
    std::string_view rest = received_;
    while (values_.size() < count && rest.size() >= 8) {
        const std::uint64_t size = wire::get_u64(rest);
        if (rest.size() - 8 < size) break;
        values_.emplace_back(rest.substr(8, size));
        rest.remove_prefix(8 + size);
    }
    received_.erase(0, received_.size() - rest.size());
    return values_.size() == count;
}

void StoreClient::end_step(Values values) {
    Call& call = calls_.front();
    if (++call.at < call.steps.size()) return send_step();
    const Done done = std::move(call.done);
    if (call.finds && values.front() == kMissing) values.clear();
    calls_.pop_front();
    const std::weak_ptr<const bool> alive = alive_;
    if (done) done(values);
    if (!alive.expired() && !awaited_) begin_call();
}

}  // namespace dlaunch::agent
