#include "rendezvous/store/core/core.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace dlaunch::store {
namespace {

/// Parses a counter as torch's servers do with stoll(): accepts leading blanks and a sign, and ignores text after the
/// digits. None: no number, or over 64 bits.
std::optional<std::int64_t> counter_of(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return std::nullopt;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    return number;
}

}  // namespace

Core::~Core() {
    for (Slot id = 0; id < waiters_.size(); ++id) give_up(id);
}

Core::Verdict Core::handle(Slot from, const wire::Request& request, Output& replies) {
    using wire::StoreOperation;
    current_ = from;
    replies_ = &replies;
    const std::string_view key = request.key;
    switch (request.operation) {
        case StoreOperation::set: return set(key, request.value);
        case StoreOperation::compare_set: return compare_set(request, replies);
        case StoreOperation::get: get(key, replies); return Verdict::unchanged;
        case StoreOperation::add: {
            std::int64_t sum = 0;
            if (const auto verdict = add(key, request.integer, sum); verdict != Verdict::changed) return verdict;
            wake_all(key);
            replies.u64(static_cast<std::uint64_t>(sum));
            return Verdict::changed;
        }
        case StoreOperation::check: {
            const bool all =
                std::all_of(request.words.begin(), request.words.end(), [&](auto word) { return exists(word); });
            replies.byte(all ? wire::kReady : wire::kNotReady);
            return Verdict::unchanged;
        }
        case StoreOperation::wait: return wait(from, request, replies);
        case StoreOperation::num_keys: replies.u64(values_.size()); return Verdict::unchanged;
        case StoreOperation::delete_key: {
            const auto found = values_.find(key);
            const bool was_there = found != values_.end();
            if (was_there) {
                retire(found->second);
                kept_bytes_ -= kKeyCost + key.size() + found->second.bytes().size();
                values_.erase(found);
                listing_.reset();
            }
            replies.u64(was_there);
            return was_there ? Verdict::changed : Verdict::unchanged;
        }
        case StoreOperation::append: return append(request);
        case StoreOperation::multi_get:
            for (const auto word : request.words) get(word, replies);
            return Verdict::unchanged;
        case StoreOperation::multi_set: return multi_set(request);
        case StoreOperation::cancel_wait:
            // An answer that is still queued comes first: after kWaitCanceled the client would take it for the answer
            // to a later request.
            for (auto answers = std::erase_if(woken_, [&](const Woken& woken) { return woken.connection == from; });
                 answers > 0; --answers)
                replies.byte(wire::kStopWaiting);
            give_up(from);
            replies.byte(wire::kWaitCanceled);
            return Verdict::unchanged;
        case StoreOperation::ping: replies.u32(static_cast<std::uint32_t>(request.integer)); return Verdict::unchanged;
        case StoreOperation::queue_push: return queue_push(request);
        case StoreOperation::queue_pop: return queue_pop(request, replies);
        case StoreOperation::queue_len: {
            const auto found = queues_.find(key);
            replies.u64(found == queues_.end() ? 0 : found->second.size());
            return Verdict::unchanged;
        }
        case StoreOperation::list_keys: list_keys(replies); return Verdict::unchanged;
        case StoreOperation::barrier: return barrier(from, request, replies);
        case StoreOperation::validate:
        case StoreOperation::extension: break;
    }
    return Verdict::refused;
}

Core::Verdict Core::set(std::string_view key, std::string_view value) {
    if (!put(key, value)) return Verdict::full;
    wake_all(key);
    return Verdict::changed;
}

Core::Verdict Core::compare_set(const wire::Request& request, Output& replies) {
    const auto found = values_.find(request.key);
    const bool missing = found == values_.end();
    if (missing ? !request.value.empty() : found->second.bytes() != request.value) {
        if (missing)
            replies.vector(request.value);
        else
            replies.vector(found->second);
        return Verdict::unchanged;
    }
    if (const auto verdict = set(request.key, request.desired); verdict != Verdict::changed) return verdict;
    replies.vector(request.desired);
    return Verdict::changed;
}

void Core::get(std::string_view key, Output& replies) const {
    const auto found = values_.find(key);
    if (found == values_.end())
        replies.vector(std::string_view());
    else
        replies.vector(found->second);
}

/// Sets the new count; refused if the value is no number. Wakes no waiter.
Core::Verdict Core::add(std::string_view key, std::int64_t delta, std::int64_t& sum) {
    const auto found = values_.find(key);
    std::int64_t before = 0;
    if (found != values_.end()) {
        const auto counter = counter_of(found->second.bytes());
        if (!counter) return Verdict::refused;
        before = *counter;
    }
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(delta));
    std::array<char, 24> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), sum);
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    if (found == values_.end()) return put(key, digits) ? Verdict::changed : Verdict::full;
    if (!keep(digits.size(), found->second.bytes().size())) return Verdict::full;
    found->second.assign(digits);
    return Verdict::changed;
}

Core::Verdict Core::append(const wire::Request& request) {
    const auto found = values_.find(request.key);
    const std::size_t before = found == values_.end() ? 0 : found->second.bytes().size();
    if (before + request.value.size() > wire::kMaxValueBytes) return Verdict::refused;
    if (found == values_.end()) return set(request.key, request.value);
    if (!keep(request.value.size())) return Verdict::full;
    retire(found->second);
    found->second.append(request.value);
    wake_all(request.key);
    return Verdict::changed;
}

Core::Verdict Core::multi_set(const wire::Request& request) {
    const auto words = request.words;
    if (!has_room_for_all(words)) return Verdict::full;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) static_cast<void>(put(words[i], words[i + 1]));
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) wake_all(words[i]);
    return words.empty() ? Verdict::unchanged : Verdict::changed;
}

Core::Verdict Core::queue_push(const wire::Request& request) {
    auto found = queues_.find(request.key);
    const std::size_t new_queue = found == queues_.end() ? kQueueCost + request.key.size() : 0;
    if (!keep(new_queue + kItemCost + request.value.size())) return Verdict::full;
    if (found == queues_.end()) found = queues_.emplace(std::string(request.key), Queue()).first;
    found->second.emplace_back(request.value);
    wake_one(request.key);
    return Verdict::changed;
}

Core::Verdict Core::queue_pop(const wire::Request& request, Output& replies) {
    const auto found = queues_.find(request.key);
    if (found == queues_.end()) {
        replies.u64(0);
        return Verdict::unchanged;
    }
    Queue& queue = found->second;
    replies.u64(queue.size());
    replies.vector(queue.front());
    retire(queue.front());
    kept_bytes_ -= kItemCost + queue.front().bytes().size();
    queue.pop_front();
    if (queue.empty()) {
        kept_bytes_ -= kQueueCost + request.key.size();
        queues_.erase(found);
    }
    return Verdict::changed;
}

/// The reply begins with the number of keys, so the whole list is built at once. Replies share it until a key is added
/// or deleted.
void Core::list_keys(Output& replies) {
    Value::Shared listing = listing_.lock();
    if (!listing) {
        auto made = std::make_shared<std::string>();
        std::size_t bytes = sizeof(std::uint64_t);
        for (const auto& [key, value] : values_) bytes += sizeof(std::uint64_t) + key.size();
        made->reserve(bytes);
        wire::put_u64(*made, values_.size());
        for (const auto& [key, value] : values_) wire::put_vector(*made, key);
        listing = std::move(made);
        listing_ = listing;
        if (bytes >= Value::kSharedBytes) retired_.add(listing);
    }
    if (listing->size() < Value::kSharedBytes)
        replies.raw(*listing);
    else
        replies.attach(std::move(listing));
}

bool Core::exists(std::string_view key) const { return values_.contains(key) || queues_.contains(key); }

// --- waiting --------------------------------------------------------------------------------------------------------

Core::Verdict Core::wait(Slot from, const wire::Request& request, Output& replies) {
    const auto missing = static_cast<std::size_t>(
        std::count_if(request.words.begin(), request.words.end(), [&](auto key) { return !exists(key); }));
    if (missing > 0) return pend(from, request.words, missing) ? Verdict::unchanged : Verdict::refused;
    replies.byte(wire::kStopWaiting);
    return Verdict::unchanged;
}

/// The counter stays under its key, so a late caller passes. Waiters wake only when the count is full.
Core::Verdict Core::barrier(Slot from, const wire::Request& request, Output& replies) {
    if (from < waiters_.size() && waiters_[from].keys == kMaxPendingKeys) return Verdict::refused;
    if (pending_bytes_ + line_bytes(request.key) + sizeof(Ticket) > most_pending_bytes_) {
        const auto found = values_.find(request.key);
        const auto before = found == values_.end() ? std::optional<std::int64_t>(0) : counter_of(found->second.bytes());
        if (!before || *before + 1 < request.integer) return Verdict::refused;
    }
    std::int64_t count = 0;
    if (const auto verdict = add(request.key, 1, count); verdict != Verdict::changed) return verdict;
    if (count >= request.integer) {
        wake_all(request.key);
        replies.byte(wire::kStopWaiting);
        return Verdict::changed;
    }
    // The key exists already, so pend() queues no ticket for it.
    pend(from, {}, 1);
    Wait& wait = waiters_[from].waits.back();
    take_place(wait.tickets[0], request.key);
    return Verdict::changed;
}

/// Adds a wait with `missing` tickets, and queues one for each of `keys` that does not exist. False: over a limit.
bool Core::pend(Slot from, std::span<const std::string_view> keys, std::size_t missing) {
    if (from >= waiters_.size()) waiters_.resize(from + 1);
    Waiter& waiter = waiters_[from];
    if (missing > kMaxPendingKeys - waiter.keys) return false;
    std::size_t bytes = pending_bytes_ + missing * sizeof(Ticket);
    for (const auto key : keys) bytes += exists(key) ? 0 : line_bytes(key);
    if (bytes > most_pending_bytes_) return false;
    waiter.keys += missing;
    Wait& wait = waiter.waits.emplace_back();
    wait.connection = from;
    wait.missing = wait.keys = missing;
    wait.self = std::prev(waiter.waits.end());
    wait.tickets = std::make_unique<Ticket[]>(missing);
    for (std::size_t i = 0; i < missing; ++i) wait.tickets[i].wait = &wait;
    std::size_t next = 0;
    for (const auto key : keys) {
        if (!exists(key)) take_place(wait.tickets[next++], key);
    }
    return true;
}

/// Memory of a line without its tickets: a node of the table and the key.
std::size_t Core::line_bytes(std::string_view key) {
    constexpr std::size_t kNode = sizeof(std::string) + sizeof(Line) + 4 * sizeof(void*);
    return kNode + (key.size() < sizeof(std::string) / 2 ? 0 : key.size() + sizeof(void*));
}

void Core::take_place(Ticket& ticket, std::string_view key) {
    const auto [place, is_new] = lines_.try_emplace(std::string(key));
    pending_bytes_ += sizeof(Ticket) + (is_new ? line_bytes(key) : 0);
    place->second.key = &place->first;
    ticket.line = &place->second;
    ticket.line->tickets.push_back(ticket);
}

void Core::wake_all(std::string_view key) {
    if (lines_.empty()) return;
    const auto found = lines_.find(std::string(key));
    if (found == lines_.end()) return;
    auto& tickets = found->second.tickets;
    while (!tickets.empty()) {
        Wait& wait = *tickets.front().wait;
        tickets.pop_front();
        if (--wait.missing == 0) answer(wait, false);
    }
    pending_bytes_ -= line_bytes(key);
    lines_.erase(found);
}

/// A queue has a new item. Answers the longest pending wait that lacks only this key. Waits that lack more keys drop
/// their ticket for this one.
void Core::wake_one(std::string_view key) {
    if (lines_.empty()) return;
    const auto found = lines_.find(std::string(key));
    if (found == lines_.end()) return;
    auto& tickets = found->second.tickets;
    bool answered = false;
    for (auto at = tickets.begin(); at != tickets.end();) {
        Wait& wait = *at->wait;
        if (wait.missing == 1 && answered) {
            ++at;
            continue;
        }
        if (wait.missing == 1 && wait.waiters > 1) {
            --wait.waiters;
            woken_.push_back({wait.connection, true, false});
            answered = true;
            ++at;
            continue;
        }
        at = tickets.erase(at);
        if (--wait.missing > 0) continue;
        answer(wait, true);
        answered = true;
    }
    if (!tickets.empty()) return;
    pending_bytes_ -= line_bytes(key);
    lines_.erase(found);
}

/// All tickets of the wait have left their lines.
void Core::answer(Wait& wait, bool by_item) {
    if (wait.connection == current_)
        replies_->byte(wire::kStopWaiting);
    else
        woken_.push_back({wait.connection, by_item, true});
    Waiter& waiter = waiters_[wait.connection];
    waiter.keys -= wait.keys;
    pending_bytes_ -= wait.keys * sizeof(Ticket);
    waiter.waits.erase(wait.self);
}

void Core::join(Slot connection) {
    if (connection < waiters_.size() && !waiters_[connection].waits.empty())
        ++waiters_[connection].waits.back().waiters;
}

void Core::leave(Slot connection) {
    if (connection >= waiters_.size() || waiters_[connection].waits.empty()) return;
    Wait& wait = waiters_[connection].waits.back();
    if (wait.waiters > 1)
        --wait.waiters;
    else
        give_up(connection);
}

bool Core::give_up(Slot connection) {
    if (connection >= waiters_.size() || waiters_[connection].waits.empty()) return false;
    for (Wait& wait : waiters_[connection].waits) {
        for (std::size_t i = 0; i < wait.keys; ++i) unlink(wait.tickets[i]);
        pending_bytes_ -= wait.keys * sizeof(Ticket);
    }
    waiters_[connection] = {};
    return true;
}

void Core::unlink(Ticket& ticket) {
    if (!ticket.is_linked()) return;
    Line& line = *ticket.line;
    line.tickets.erase(line.tickets.iterator_to(ticket));
    if (!line.tickets.empty()) return;
    pending_bytes_ -= line_bytes(*line.key);
    lines_.erase(lines_.find(*line.key));
}

}  // namespace dlaunch::store
