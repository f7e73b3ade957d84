#include "rendezvous/store/server/half_open.hpp"

namespace dlaunch::store {

void HalfOpen::enter(Slot slot, std::string address, base::Time now) {
    if (slot >= entries_.size()) entries_.resize(slot + 1);
    entries_[slot] = {State::waiting, std::move(address), now, waiting_.insert(waiting_.end(), slot)};
}

void HalfOpen::greet(Slot slot, bool torch_1_13) {
    Entry& entry = entries_[slot];
    if (entry.state == State::waiting) waiting_.erase(entry.at);
    if (entry.state == State::spared) --addresses_[entry.address].spared;
    if (torch_1_13) ++addresses_[entry.address].torch_1_13;
    entry.state = torch_1_13 ? State::torch_1_13 : State::served;
}

void HalfOpen::leave(Slot slot) {
    Entry& entry = entries_[slot];
    if (entry.state == State::waiting) waiting_.erase(entry.at);
    if (const auto found = addresses_.find(entry.address); found != addresses_.end()) {
        Address& address = found->second;
        if (entry.state == State::spared) --address.spared;
        if (entry.state == State::torch_1_13) --address.torch_1_13;
        if (address.spared == 0 && address.torch_1_13 == 0) addresses_.erase(found);
    }
    entry = {};
}

std::vector<Slot> HalfOpen::overdue(base::Time now) {
    std::vector<Slot> late;
    for (auto due = next(); due && *due <= now; due = next()) {
        const Slot slot = waiting_.front();
        Entry& entry = entries_[slot];
        const auto found = addresses_.find(entry.address);
        if (found != addresses_.end() && found->second.spared < found->second.torch_1_13) {
            waiting_.pop_front();
            entry.state = State::spared;
            ++found->second.spared;
        } else {
            leave(slot);
            late.push_back(slot);
        }
    }
    return late;
}

std::optional<base::Time> HalfOpen::next() const {
    if (waiting_.empty()) return std::nullopt;
    return entries_[waiting_.front()].since + (hurry_ ? hurried_ : patience_);
}

}  // namespace dlaunch::store
