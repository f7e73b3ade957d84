#include "rendezvous/store/relay/proxy.hpp"

#include <algorithm>
#include <utility>
#include "rendezvous/wire/may_change.hpp"

namespace dlaunch::store {
namespace {

using wire::Channel;
using wire::StoreOperation;

constexpr std::size_t kGrantEvery = wire::kWindow / 4;
constexpr std::uint64_t kMostBehind = wire::kWindow;  // bytes of requests behind the first one whose reply is due

std::string encoded(const wire::Request& request) {
    std::string bytes;
    wire::encode(request, bytes);
    return bytes;
}

const std::string& encoded_cancel() {
    static const std::string bytes = [] {
        wire::Request cancel;
        cancel.operation = StoreOperation::cancel_wait;
        return encoded(cancel);
    }();
    return bytes;
}

/// Removes the entry of a call, unless a later call has taken its place.
void forget(std::unordered_map<std::string, Channel>& calls, const std::string& request, Channel channel) {
    const auto found = calls.find(request);
    if (found != calls.end() && found->second == channel) calls.erase(found);
}

}  // namespace

bool Proxy::request(Local from, const wire::Request& request, wire::Numbering numbering) {
    Client& client = clients_[from];
    if (client.refused) return true;  // its connection ends
    if (numbering == wire::Numbering::torch_1_13) give_up_waits(from, client);
    if (wire::may_change(request.operation)) gets_.clear();
    if (request.operation != StoreOperation::add) send_adds();
    if (request.operation == StoreOperation::delete_key || request.operation == StoreOperation::queue_pop)
        waits_.clear();
    switch (request.operation) {
        case StoreOperation::wait:
        case StoreOperation::barrier:
            if (client.waits.size() >= kMostWaits) return false;
            wait(from, client, request);
            break;
        case StoreOperation::get: get(from, client, request); break;
        case StoreOperation::add: add(from, client, request); break;
        case StoreOperation::cancel_wait:
            give_up_waits(from, client);
            client.due.push_back({.source = Due::Source::text,
                                  .reader = wire::ReplyReader(request),
                                  .sent = client.sent,
                                  .text = std::string(1, wire::kWaitCanceled)});
            if (client.due.size() == 1) end_due(from, client);
            break;
        case StoreOperation::extension:
        case StoreOperation::validate: return false;
        default: pass_on(from, client, request);
    }
    review_hold(from, client);
    return true;
}

void Proxy::wait(Local from, Client& client, const wire::Request& request) {
    const bool may_join = request.operation == StoreOperation::wait;
    std::string bytes = encoded(request);
    const auto pending = may_join ? waits_.find(bytes) : waits_.end();
    if (pending != waits_.end()) {
        calls_.at(pending->second).callers.push_back({from});
        wire::put_join(frames_, pending->second);
        client.waits.push_back(pending->second);
        return;
    }
    const Channel channel = begin_call(from, request, bytes);
    if (may_join) waits_.emplace(std::move(bytes), channel);
    client.waits.push_back(channel);
}

/// A reply that is due would hold a call's reply back.
void Proxy::get(Local from, Client& client, const wire::Request& request) {
    if (!client.due.empty()) return pass_on(from, client, request);
    std::string bytes = encoded(request);
    const auto found = gets_.find(bytes);
    if (found != gets_.end()) {
        client.call = found->second;
        calls_.at(client.call).callers.push_back({from});
    } else {
        client.call = begin_call(from, request, bytes);
        gets_.emplace(std::move(bytes), client.call);
    }
    client.due.push_back(
        {.source = Due::Source::call, .reader = wire::ReplyReader(request), .sent = client.sent, .text = {}});
}

void Proxy::pass_on(Local from, Client& client, const wire::Request& request) {
    if (client.channel == 0) {
        client.channel = ++last_;
        owners_.emplace(client.channel, from);
    }
    const std::string bytes = encoded(request);
    wire::put_data(frames_, client.channel, bytes);
    client.sent += bytes.size();
    const wire::ReplyReader reader(request);
    if (!reader.done())
        client.due.push_back({.source = Due::Source::own, .reader = reader, .sent = client.sent, .text = {}});
}

Channel Proxy::begin_call(Local from, const wire::Request& request, std::string bytes) {
    if (idle_.empty()) idle_.push_back({++last_, 0});
    const auto [channel, owed] = idle_.back();
    idle_.pop_back();
    wire::put_data(frames_, channel, bytes);
    calls_.emplace(channel, Call{request.operation, std::move(bytes), {{from}}, wire::ReplyReader(request), owed});
    return channel;
}

// --- ends -----------------------------------------------------------------------------------------------------------

void Proxy::finished(Local id) {
    send_adds();
    const auto found = clients_.find(id);
    if (found != clients_.end() && !found->second.due.empty()) {
        give_up_waits(id, found->second);
        found->second.finished = true;
    } else {
        actions_.push_back(Drop{id});
    }
}

void Proxy::closed(Local id) {
    send_adds();
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    Client& client = found->second;
    give_up_waits(id, client);
    if (client.call != 0) leave_call(id, client.call);
    if (client.channel != 0) {
        owners_.erase(client.channel);
        close_channel(client.channel);
    }
    clients_.erase(found);
}

void Proxy::close_channel(Channel channel) { wire::put_close(frames_, channel); }

void Proxy::give_up_waits(Local from, Client& client) {
    for (const Channel channel : std::exchange(client.waits, {})) leave_call(from, channel);
}

/// A call without callers: a WAIT is canceled, a GET's or ADD's reply is dropped when it comes.
void Proxy::leave_call(Local client, Channel channel) {
    Call& call = calls_.at(channel);
    call.callers.erase(std::ranges::find(call.callers, client, &Caller::client));
    if (!call.callers.empty()) {
        if (call.operation == StoreOperation::wait) wire::put_leave(frames_, channel);
        return;
    }
    forget(waits_, call.request, channel);
    forget(gets_, call.request, channel);
    if (call.operation == StoreOperation::get || call.operation == StoreOperation::add)
        return grant(channel, call.owed);
    call.canceled = true;
    wire::put_data(frames_, channel, encoded_cancel());
}

void Proxy::lost() {
    for (const auto& [id, client] : clients_) actions_.push_back(Drop{id});
    clients_.clear();
    owners_.clear();
    calls_.clear();
    waits_.clear();
    gets_.clear();
    adds_.clear();
    idle_.clear();
    frames_.clear();
}

// --- replies --------------------------------------------------------------------------------------------------------

bool Proxy::received(const wire::TrunkFrame& frame) {
    using Kind = wire::TrunkFrame::Kind;
    const auto owner = owners_.find(frame.channel);
    const auto call = calls_.find(frame.channel);
    if (frame.kind == Kind::data) {
        if (owner != owners_.end()) return take_reply(owner->second, clients_.at(owner->second), frame.bytes);
        return call == calls_.end() || take_call(frame.channel, call->second, frame.bytes);
    }
    if (frame.kind != Kind::close) return false;
    if (owner != owners_.end()) {
        end_own_channel(owner->second);
    } else if (call != calls_.end()) {
        drop_call(frame.channel, call->second);
    } else if (std::erase_if(idle_, [&](const Idle& idle) { return idle.channel == frame.channel; }) > 0) {
        close_channel(frame.channel);
    }
    return true;
}

/// The store has refused a request. A reply of an earlier one may still come, in a call's channel.
void Proxy::end_own_channel(Local id) {
    Client& client = clients_.at(id);
    if (client.call == 0 || client.due.front().source != Due::Source::call) return drop(id);
    client.refused = true;
    owners_.erase(client.channel);
    close_channel(std::exchange(client.channel, 0));
}

/// Answers a close of the client's channel with one.
void Proxy::drop(Local id) {
    actions_.push_back(Drop{id});
    closed(id);
}

/// The store has refused a call. A client may have joined it twice.
void Proxy::drop_call(Channel channel, Call& call) {
    forget(waits_, call.request, channel);
    forget(gets_, call.request, channel);
    for (const auto [id, sum] : std::exchange(call.callers, {})) {
        const auto client = clients_.find(id);
        if (client == clients_.end()) continue;
        std::erase(client->second.waits, channel);
        if (client->second.call == channel) client->second.call = 0;
        drop(id);
    }
    calls_.erase(channel);
    close_channel(channel);
}

bool Proxy::take_reply(Local to, Client& client, std::string_view bytes) {
    while (!bytes.empty()) {
        if (client.due.empty()) return false;
        Due& due = client.due.front();
        if (due.source == Due::Source::call) {
            client.early.append(bytes);
            return client.early.size() <= wire::kWindow;
        }
        const std::size_t size = due.reader.take(bytes);
        client.owed += size;
        deliver(to, bytes.substr(0, size));
        bytes.remove_prefix(size);
        due.has_begun = true;
        if (!due.reader.done()) break;
        client.due.pop_front();
        end_due(to, client);
    }
    review_hold(to, client);
    return true;
}

bool Proxy::take_call(Channel channel, Call& call, std::string_view bytes) {
    call.owed += bytes.size();
    if (call.canceled) {
        if (static_cast<std::uint8_t>(bytes.back()) == wire::kWaitCanceled) end_call(channel);
        return true;
    }
    if (call.operation == StoreOperation::add) return take_sum(channel, call, bytes);
    if (call.operation != StoreOperation::get) {
        for (const char answer : bytes.substr(0, bytes.size() - 1))
            if (static_cast<std::uint8_t>(answer) != wire::kItemCame) return false;
        for (const char answer : bytes) end_wait(channel, call, static_cast<std::uint8_t>(answer));
        return true;
    }
    if (call.reader.take(bytes) != bytes.size()) return false;
    const bool is_done = call.reader.done();
    for (const Caller& caller : call.callers) {
        Client& client = clients_.at(caller.client);
        deliver(caller.client, bytes);
        client.due.front().has_begun = true;
        if (is_done && !end_reply(caller.client, client)) return false;
    }
    if (is_done)
        end_call(channel);
    else if (call.callers.empty())
        grant(channel, call.owed);
    return true;
}

/// The reply of a call is complete: the replies that have come early are next.
bool Proxy::end_reply(Local to, Client& client) {
    client.call = 0;
    client.due.pop_front();
    end_due(to, client);
    if (!take_reply(to, client, std::exchange(client.early, {}))) return false;
    if (client.refused) drop(to);
    return true;
}

/// After the last item the store holds no waiter of this wait. Workers that joined the wait too late for the store to
/// count them start another one.
void Proxy::end_wait(Channel channel, Call& call, std::uint8_t by) {
    const bool by_item = by == wire::kItemCame || by == wire::kLastItemCame;
    std::vector<Caller> callers = std::exchange(call.callers, {});
    const auto first_left =
        callers.begin() + (by_item ? std::min<std::ptrdiff_t>(1, std::ssize(callers)) : std::ssize(callers));
    for (auto at = callers.begin(); at != first_left; ++at) answer(at->client, channel);
    callers.erase(callers.begin(), first_left);
    if (by == wire::kItemCame) {
        call.callers = std::move(callers);
        return;
    }
    if (callers.empty()) return end_call(channel);
    wire::put_data(frames_, channel, call.request);
    for (std::size_t more = 1; more < callers.size(); ++more) wire::put_join(frames_, channel);
    call.callers = std::move(callers);
}

/// The answer of a WAIT may overtake replies, but not stand within one.
void Proxy::answer(Local to, Channel channel) {
    Client& client = clients_.at(to);
    client.waits.erase(std::ranges::find(client.waits, channel));
    if (!client.due.empty() && client.due.front().has_begun)
        ++client.late_answers;
    else
        deliver(to, std::string(1, static_cast<char>(wire::kStopWaiting)));
}

/// A reply is complete: delivers the replies that have waited for it.
void Proxy::end_due(Local to, Client& client) {
    if (client.late_answers > 0)
        deliver(to, std::string(std::exchange(client.late_answers, 0), static_cast<char>(wire::kStopWaiting)));
    for (; !client.due.empty() && client.due.front().source == Due::Source::text; client.due.pop_front())
        deliver(to, client.due.front().text);
    if (client.finished && client.due.empty()) actions_.push_back(Drop{to});
}

void Proxy::end_call(Channel channel) {
    const auto found = calls_.find(channel);
    Call& call = found->second;
    forget(waits_, call.request, channel);
    forget(gets_, call.request, channel);
    if (call.owed >= kGrantEvery) grant(channel, call.owed);
    idle_.push_back({channel, call.owed});
    calls_.erase(found);
}

// --- bounds ---------------------------------------------------------------------------------------------------------

void Proxy::drained(Local id) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    Client& client = found->second;
    if (client.owed >= kGrantEvery) grant(client.channel, client.owed);
    if (client.call == 0) return;
    Call& call = calls_.at(client.call);
    if (call.owed >= kGrantEvery) grant(client.call, call.owed);
}

void Proxy::grant(Channel channel, std::size_t& owed) {
    if (owed > 0) wire::put_credit(frames_, channel, static_cast<std::uint32_t>(owed));
    owed = 0;
}

void Proxy::review_hold(Local id, Client& client) {
    const std::uint64_t behind = client.due.empty() ? 0 : client.sent - client.due.front().sent;
    const bool on = client.due.size() >= kMostDue || behind > kMostBehind;
    if (std::exchange(client.on_hold, on) != on) actions_.push_back(Hold{id, on});
}

std::string Proxy::take_frames() {
    send_adds();
    gets_.clear();
    return std::exchange(frames_, {});
}

}  // namespace dlaunch::store
