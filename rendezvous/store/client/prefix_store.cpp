#include "rendezvous/store/client/prefix_store.hpp"

namespace dlaunch::store {

std::vector<std::string> PrefixStore::full(Keys keys) const {
    std::vector<std::string> all;
    for (const auto& key : keys) all.push_back(full(key));
    return all;
}

Result<void> PrefixStore::set(std::string_view key, std::string_view value, Time deadline) {
    return store_.set(full(key), value, deadline);
}

Result<std::string> PrefixStore::get(std::string_view key, Time deadline) { return store_.get(full(key), deadline); }

Result<std::int64_t> PrefixStore::add(std::string_view key, std::int64_t delta, Time deadline) {
    return store_.add(full(key), delta, deadline);
}

Result<std::string> PrefixStore::compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                             Time deadline) {
    return store_.compare_set(full(key), expected, desired, deadline);
}

Result<bool> PrefixStore::check(Keys keys, Time deadline) { return store_.check(full(keys), deadline); }

Result<void> PrefixStore::wait(Keys keys, Time deadline) { return store_.wait(full(keys), deadline); }

Result<bool> PrefixStore::delete_key(std::string_view key, Time deadline) {
    return store_.delete_key(full(key), deadline);
}

Result<void> PrefixStore::append(std::string_view key, std::string_view bytes, Time deadline) {
    return store_.append(full(key), bytes, deadline);
}

Result<std::vector<std::string>> PrefixStore::multi_get(Keys keys, Time deadline) {
    return store_.multi_get(full(keys), deadline);
}

Result<void> PrefixStore::multi_set(Pairs pairs, Time deadline) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [key, value] : pairs) all.emplace_back(full(key), value);
    return store_.multi_set(all, deadline);
}

Result<void> PrefixStore::queue_push(std::string_view key, std::string_view value, Time deadline) {
    return store_.queue_push(full(key), value, deadline);
}

Result<std::string> PrefixStore::queue_pop(std::string_view key, Time deadline) {
    return store_.queue_pop(full(key), deadline);
}

Result<std::int64_t> PrefixStore::queue_len(std::string_view key, Time deadline) {
    return store_.queue_len(full(key), deadline);
}

Result<std::vector<std::string>> PrefixStore::list_keys(Time deadline) {
    auto all = store_.list_keys(deadline);
    if (!all) return all;
    std::vector<std::string> ours;
    for (const auto& key : *all) {
        if (key.starts_with(prefix_)) ours.push_back(key.substr(prefix_.size()));
    }
    return ours;
}

Result<std::int64_t> PrefixStore::num_keys(Time deadline) {
    auto ours = list_keys(deadline);
    if (!ours) return ours.error();
    return static_cast<std::int64_t>(ours->size());
}

Result<void> PrefixStore::barrier(std::string_view key, std::int64_t world_size, Time deadline) {
    return store_.barrier(full(key), world_size, deadline);
}

}  // namespace dlaunch::store
