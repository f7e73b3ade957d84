#include "worker_lib/src/core/message_matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <dlaunch/options.hpp>

namespace dlaunch::worker {
namespace {

bool accepts(const Transfer& receive, int source, int tag) {
    return (receive.peer == source || receive.peer == kAnySource) && (receive.tag == tag || receive.tag == kAnyTag);
}

}  // namespace

Error::Where where(const Transfer& transfer, const GroupInfo& group) {
    return {transfer.sends ? "send" : "recv", 0, group.name};
}

Error overdue(const Transfer& transfer, const GroupInfo& group, Time now) {
    const std::vector<int> ranks = transfer.peer == kAnySource ? std::vector<int>{} : std::vector<int>{transfer.peer};
    return failure(
        ErrorCode::timeout, where(transfer, group), ranks,
        fmt::format("rank {} waited {} for {} to {}", group.named(group.rank), describe(now - transfer.began),
                    ranks.empty() ? "any rank" : group.names.list(ranks), transfer.sends ? "receive" : "send"));
}

std::deque<MessageMatcher::Receive>::iterator MessageMatcher::first_for(int source, const Envelope& envelope) {
    return std::ranges::find_if(
        receives_, [&](const Receive& receive) { return accepts(receive->transfer, source, envelope.tag); });
}

/// Whether type and count permit to receive the message. False: the receive has failed.
bool MessageMatcher::fits(MessageCall& receive, int source, const Envelope& envelope) const {
    const Transfer& t = receive.transfer;
    const std::size_t count = envelope.count();
    if (envelope.type == t.type && (count == t.count || (t.up_to && count < t.count))) return true;
    receive.fail(failure(ErrorCode::mismatch, where(t, group_), {source, group_.rank},
                         fmt::format("rank {} sent {} {} with tag {}, rank {} receives {}{} {}", group_.named(source),
                                     count, name_of(envelope.type), envelope.tag, group_.named(group_.rank),
                                     t.up_to ? "up to " : "", t.count, name_of(t.type))));
    return false;
}

void MessageMatcher::deliver(MessageCall& receive, const Held& message) const {
    const auto& [source, envelope, payload] = message;
    if (!fits(receive, source, envelope)) return;
    if (!payload.empty()) std::memcpy(receive.transfer.data, payload.data(), payload.size());
    receive.finish({source, envelope.tag, envelope.count()});
}

void MessageMatcher::post(const Receive& receive) {
    const auto message = std::ranges::find_if(
        held_, [&](const Held& held) { return accepts(receive->transfer, held.source, held.envelope.tag); });
    if (message == held_.end()) {
        receives_.push_back(receive);
        return;
    }
    deliver(*receive, *message);
    held_.erase(message);
}

void MessageMatcher::decide(int source, Incoming& message) {
    const auto first = first_for(source, message.envelope);
    if (first != receives_.end()) {
        message.receive = std::move(*first);
        receives_.erase(first);
        message.fate = Incoming::Fate::received;
        if (!fits(*message.receive, source, message.envelope)) message.discard();
        return;
    }
    const bool waits_for_later = std::ranges::any_of(receives_, [&](const Receive& receive) {
        return receive->transfer.peer == source || receive->transfer.peer == kAnySource;
    });
    if (!waits_for_later) return;
    message.memory = allocate_unexpected(group_, source, message.envelope.bytes);
    message.fate = Incoming::Fate::held;
}

void MessageMatcher::arrived(int source, Incoming& message) {
    Incoming whole = std::exchange(message, {});
    if (whole.receive) return whole.receive->finish({source, whole.envelope.tag, whole.envelope.count()});
    if (whole.fate != Incoming::Fate::held) return;
    Held held{source, whole.envelope, std::move(whole.memory)};
    const auto first = first_for(source, held.envelope);  // posted while the message came in
    if (first == receives_.end()) {
        held_.push_back(std::move(held));
        return;
    }
    const Receive receive = std::move(*first);
    receives_.erase(first);
    deliver(*receive, held);
}

bool MessageMatcher::withdraw(const MessageCall& receive) {
    return std::erase_if(receives_, [&](const Receive& other) { return other.get() == &receive; }) > 0;
}

void MessageMatcher::fail(const Verdict& why) {
    std::erase_if(receives_, [&](const Receive& receive) {
        const auto error = why(receive->transfer);
        if (error) receive->fail(*error);
        return error.has_value();
    });
}

}  // namespace dlaunch::worker
