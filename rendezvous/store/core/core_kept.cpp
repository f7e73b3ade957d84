// The memory of keys, values and queues.

#include <algorithm>

#include "rendezvous/store/core/core.hpp"

namespace dlaunch::store {

void Core::clear() {
    for (const auto& [key, value] : values_) retire(value);
    decltype(values_)().swap(values_);  // clear() would keep the tables' memory
    decltype(queues_)().swap(queues_);
    kept_bytes_ = 0;
    listing_.reset();
}

/// Counts a change of kept_bytes(). False, and no change: it grows over the limit.
bool Core::keep(std::size_t more, std::size_t less) {
    const std::size_t after = kept_bytes_ + more - less;
    if (after > most_kept_bytes_ && more > less) return false;
    kept_bytes_ = after;
    return true;
}

/// Near the limit a list that names a key twice may be refused although the last of its values would fit.
bool Core::has_room_for_all(std::span<const std::string_view> pairs) const {
    std::size_t growth = 0;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) growth += kKeyCost + pairs[i].size() + pairs[i + 1].size();
    if (kept_bytes_ + growth <= most_kept_bytes_) return true;
    growth = 0;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        const auto found = values_.find(pairs[i]);
        const std::size_t before = found == values_.end() ? 0 : found->second.bytes().size();
        const std::size_t new_key = found == values_.end() ? kKeyCost + pairs[i].size() : 0;
        growth += new_key + std::max(pairs[i + 1].size(), before) - before;
    }
    return kept_bytes_ + growth <= most_kept_bytes_;
}

/// False: no room.
bool Core::put(std::string_view key, std::string_view value) {
    if (const auto found = values_.find(key); found != values_.end()) {
        if (!keep(value.size(), found->second.bytes().size())) return false;
        retire(found->second);
        found->second.assign(value);
    } else {
        if (!keep(kKeyCost + key.size() + value.size())) return false;
        values_.emplace(std::string(key), Value(value));
        listing_.reset();
    }
    return true;
}

/// Accounts for bytes that the store drops and that replies may still hold.
void Core::retire(const Value& value) {
    if (value.is_shared()) retired_.add(value.shared());
}

}  // namespace dlaunch::store
