#pragma once

#include "rendezvous/store/client/store.hpp"

namespace dlaunch::store {

/// A view of another store in which every key k is that store's "<prefix>/k". list_keys() and num_keys() see only
/// those.
class PrefixStore final : public Store {
public:
    /// `store` must outlive this object.
    PrefixStore(std::string prefix, Store& store) : prefix_(std::move(prefix) + "/"), store_(store) {}

    Result<void> set(std::string_view key, std::string_view value, Time deadline) override;
    Result<std::string> get(std::string_view key, Time deadline) override;
    Result<std::int64_t> add(std::string_view key, std::int64_t delta, Time deadline) override;
    Result<std::string> compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                    Time deadline) override;
    Result<bool> check(Keys keys, Time deadline) override;
    Result<void> wait(Keys keys, Time deadline) override;
    Result<bool> delete_key(std::string_view key, Time deadline) override;
    Result<void> append(std::string_view key, std::string_view bytes, Time deadline) override;
    Result<std::vector<std::string>> multi_get(Keys keys, Time deadline) override;
    Result<void> multi_set(Pairs pairs, Time deadline) override;
    Result<void> queue_push(std::string_view key, std::string_view value, Time deadline) override;
    Result<std::string> queue_pop(std::string_view key, Time deadline) override;
    Result<std::int64_t> queue_len(std::string_view key, Time deadline) override;
    Result<std::vector<std::string>> list_keys(Time deadline) override;
    Result<std::int64_t> num_keys(Time deadline) override;
    Result<void> barrier(std::string_view key, std::int64_t world_size, Time deadline) override;

private:
    [[nodiscard]] std::string full(std::string_view key) const { return prefix_ + std::string(key); }
    [[nodiscard]] std::vector<std::string> full(Keys keys) const;

    const std::string prefix_;  // with the slash
    Store& store_;
};

}  // namespace dlaunch::store
