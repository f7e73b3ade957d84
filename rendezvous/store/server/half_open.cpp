#include "rendezvous/store/server/half_open.hpp"

namespace dlaunch::store {

void HalfOpen::enter(Slot slot, std::string address, base::Time now) {
    if (slot >= places_.size()) places_.resize(slot + 1);
    places_[slot] = {State::waiting, std::move(address), now, waiting_.insert(waiting_.end(), slot)};
}

void HalfOpen::greet(Slot slot, bool torch_1_13) {
    Place& place = places_[slot];
    if (place.state == State::waiting) waiting_.erase(place.at);
    if (place.state == State::spared) --addresses_[place.address].spared;
    if (torch_1_13) ++addresses_[place.address].torch_1_13;
    place.state = torch_1_13 ? State::torch_1_13 : State::served;
}

void HalfOpen::leave(Slot slot) {
    Place& place = places_[slot];
    if (place.state == State::waiting) waiting_.erase(place.at);
    if (const auto found = addresses_.find(place.address); found != addresses_.end()) {
        Address& address = found->second;
        if (place.state == State::spared) --address.spared;
        if (place.state == State::torch_1_13) --address.torch_1_13;
        if (address.spared == 0 && address.torch_1_13 == 0) addresses_.erase(found);
    }
    place = {};
}

std::vector<HalfOpen::Slot> HalfOpen::overdue(base::Time now) {
    std::vector<Slot> late;
    while (!waiting_.empty()) {
        const Slot slot = waiting_.front();
        Place& place = places_[slot];
        if (waiting_.size() <= limit_ && now - place.since < patience_) break;
        const auto found = addresses_.find(place.address);
        if (found != addresses_.end() && found->second.spared < found->second.torch_1_13) {
            waiting_.pop_front();
            place.state = State::spared;
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
    return places_[waiting_.front()].since + patience_;
}

}  // namespace dlaunch::store
