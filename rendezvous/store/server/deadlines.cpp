#include "rendezvous/store/server/deadlines.hpp"

namespace dlaunch::store {

void Deadlines::start(Slot slot, base::Time now) {
    stop(slot);
    if (slot >= places_.size()) places_.resize(slot + 1, running_.end());
    places_[slot] = running_.insert(running_.end(), {slot, now + patience_});
}

void Deadlines::stop(Slot slot) {
    if (slot >= places_.size() || places_[slot] == running_.end()) return;
    running_.erase(places_[slot]);
    places_[slot] = running_.end();
}

std::vector<Slot> Deadlines::overdue(base::Time now) {
    std::vector<Slot> late;
    while (!running_.empty() && running_.front().due <= now) {
        late.push_back(running_.front().slot);
        stop(late.back());
    }
    return late;
}

std::optional<base::Time> Deadlines::next() const {
    if (running_.empty()) return std::nullopt;
    return running_.front().due;
}

}  // namespace dlaunch::store
