#include "agent/logs/coalescer.hpp"

#include <algorithm>
#include <utility>

namespace dlaunch::agent {

Coalescer::Rank& Coalescer::rank(int number) {
    const auto index = static_cast<std::size_t>(number);
    if (index >= ranks_.size()) ranks_.resize(index + 1);
    return ranks_[index];
}

void Coalescer::open(int number) {
    Rank& opened = rank(number);
    if (opened.open) return;
    opened.open = true;
    opened.apart = false;
    ++open_;
}

void Coalescer::close(int number) {
    Rank& closed = rank(number);
    if (!closed.open) return;
    closed.open = closed.ahead = false;
    --open_;
}

void Coalescer::close_all() {
    for (std::size_t number = 0; number < ranks_.size(); ++number) close(static_cast<int>(number));
}

void Coalescer::add(int number, std::string_view text, base::Time now) {
    Rank& by = rank(number);
    auto found = texts_.find(text);
    if (found == texts_.end()) found = texts_.try_emplace(std::string(text)).first;
    auto& copies = found->second;
    const auto is_own = [&](const Copies& each) { return each.rank == number; };
    const auto own = std::find_if(copies.begin(), copies.end(), is_own);
    if (own == copies.end())
        copies.push_back({number, 1});
    else
        ++own->count;

    by.queue.push_back({&*found, now, ++numbers_});
    by.bytes += text.size() + kLineBytes;
    if (by.bytes >= limits_.ahead_bytes) by.ahead = true;
    ++waiting_;
}

/// The text stands at the head of every queue that holds it.
bool Coalescer::ripe(const Text& text) const {
    return std::all_of(text.second.begin(), text.second.end(),
                       [&](const Copies& each) { return ranks_[static_cast<std::size_t>(each.rank)].at_head(text); });
}

Coalescer::Text* Coalescer::complete() const {
    const auto any = std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& each) { return each.open; });
    if (any == ranks_.end() || any->queue.empty()) return nullptr;
    Text* text = any->queue.front().text;
    const auto& copies = text->second;
    if (copies.size() < open_ || !ripe(*text)) return nullptr;
    const auto open_copies = std::count_if(copies.begin(), copies.end(), [&](const Copies& each) {
        return ranks_[static_cast<std::size_t>(each.rank)].open;
    });
    return static_cast<std::size_t>(open_copies) == open_ ? text : nullptr;
}

Coalescer::Text* Coalescer::due(base::Time now) {
    if (waiting_ == 0) return nullptr;
    if (Text* text = complete()) return text;

    const Waiting* oldest = nullptr;
    const Waiting* oldest_ahead = nullptr;
    bool a_rank_may_catch_up = false;
    for (const Rank& each : ranks_) {
        if (each.open && !each.ahead && !each.apart) a_rank_may_catch_up = true;
        if (each.queue.empty()) continue;
        const Waiting* head = &each.queue.front();
        if (each.bytes > limits_.most_bytes) return head->text;
        if (!oldest || head->number < oldest->number) oldest = head;
        if (each.ahead && (!oldest_ahead || head->number < oldest_ahead->number)) oldest_ahead = head;
    }
    if (now >= oldest->since + limits_.window) {
        part_from_others(*oldest->text);
        return oldest->text;
    }
    if (open_ == 0) return oldest->text;
    return oldest_ahead && !a_rank_may_catch_up ? oldest_ahead->text : nullptr;
}

/// The window of `text` is over. If a rank that printed `text` was paused for the other ranks, marks each rank without
/// `text` as apart.
void Coalescer::part_from_others(const Text& text) {
    const auto& copies = text.second;
    if (std::none_of(copies.begin(), copies.end(), [&](const Copies& each) { return rank(each.rank).ahead; })) return;
    for (std::size_t number = 0; number < ranks_.size(); ++number) {
        const auto is_it = [&](const Copies& each) { return static_cast<std::size_t>(each.rank) == number; };
        if (std::none_of(copies.begin(), copies.end(), is_it)) ranks_[number].apart = true;
    }
}

/// The text that has to leave before `text`, so that all copies of `text` can leave as one line; `text` itself when no
/// other has to or can.
Coalescer::Text& Coalescer::first_before(Text& text) const {
    const Waiting* first = nullptr;
    for (const Copies& each : text.second) {
        const Waiting& head = ranks_[static_cast<std::size_t>(each.rank)].queue.front();
        if (head.text == &text || (first && first->number < head.number) || !ripe(*head.text)) continue;
        first = &head;
    }
    return first ? *first->text : text;
}

std::optional<Coalescer::Line> Coalescer::next(base::Time now) {
    Text* text = due(now);
    if (!text) return {};
    return take(first_before(*text));
}

std::optional<Coalescer::Line> Coalescer::next_of(int number, base::Time until) {
    const Rank& of = rank(number);
    if (of.queue.empty() || of.queue.front().since > until) return {};
    return take(*of.queue.front().text);
}

Coalescer::Line Coalescer::take(Text& text) {
    Line line{.since = base::Time::max()};
    auto& copies = text.second;
    for (Copies& each : copies) {
        Rank& from = rank(each.rank);
        if (!from.at_head(text)) continue;
        line.ranks.push_back(each.rank);
        line.since = std::min(line.since, from.queue.front().since);
        pop(from);
        --each.count;
    }
    std::sort(line.ranks.begin(), line.ranks.end());
    if (line.ranks.size() > 1)
        for (int number : line.ranks) rank(number).apart = false;
    std::erase_if(copies, [](const Copies& each) { return each.count == 0; });
    if (copies.empty())
        line.text = std::move(texts_.extract(texts_.find(text.first)).key());
    else
        line.text = text.first;
    return line;
}

void Coalescer::pop(Rank& from) {
    from.bytes -= from.queue.front().text->first.size() + kLineBytes;
    from.queue.pop_front();
    --waiting_;
    if (!from.ahead || from.bytes > limits_.ahead_bytes / 2) return;
    from.ahead = false;
    released_ = true;
}

std::optional<base::Time> Coalescer::deadline() const {
    std::optional<base::Time> earliest;
    for (const Rank& each : ranks_) {
        if (each.queue.empty()) continue;
        const base::Time end = each.queue.front().since + limits_.window;
        if (!earliest || end < *earliest) earliest = end;
    }
    return earliest;
}

bool Coalescer::ahead(int number) const {
    const auto index = static_cast<std::size_t>(number);
    return index < ranks_.size() && ranks_[index].ahead;
}

bool Coalescer::take_released() { return std::exchange(released_, false); }

}  // namespace dlaunch::agent
