#pragma once
/// A shared map of keys to bytes, as torch.distributed's stores: one interface, several homes.
///
/// Every call names its deadline, as every call may wait for a network or a disk. A call whose deadline passed is an
/// error whose status is exit_status::kRendezvousTimeout; the store is usable afterwards. A store that cannot be
/// reached any more is an error with kCoordinatorLost. Keys are at most 8 KiB long, values 8 MiB, and 131072 keys go
/// into one call: more is an error, and nothing is done.
///
/// A key *exists* when it has a value or is a queue that is not empty.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

using base::Result;
using base::Time;

class Store {
public:
    using Keys = std::span<const std::string>;
    using Pairs = std::span<const std::pair<std::string, std::string>>;

    virtual ~Store() = default;

    virtual Result<void> set(std::string_view key, std::string_view value, Time deadline) = 0;
    /// The value; waits until the key exists. Empty where the key went again in between, or is a queue.
    virtual Result<std::string> get(std::string_view key, Time deadline) = 0;
    /// Adds to a counter kept as decimal text, 0 where the key is missing; the new count. A value that is no number is
    /// an error and, over a network, ends the connection.
    virtual Result<std::int64_t> add(std::string_view key, std::int64_t delta, Time deadline) = 0;
    /// Stores `desired` where the key's value is `expected`, or `expected` is empty and the key is missing; returns
    /// `desired` then. Else returns the value that is there; for a missing key, `expected`.
    virtual Result<std::string> compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                            Time deadline) = 0;
    /// Whether all of them exist.
    virtual Result<bool> check(Keys keys, Time deadline) = 0;
    /// Returns when each of them has existed.
    virtual Result<void> wait(Keys keys, Time deadline) = 0;
    /// Whether there was one. Queues stay.
    virtual Result<bool> delete_key(std::string_view key, Time deadline) = 0;
    /// A value that would grow over 8 MiB stays as it is; over a network the connection ends then, and a later call
    /// says so.
    virtual Result<void> append(std::string_view key, std::string_view bytes, Time deadline) = 0;
    /// All at once; waits until all exist.
    virtual Result<std::vector<std::string>> multi_get(Keys keys, Time deadline) = 0;
    virtual Result<void> multi_set(Pairs pairs, Time deadline) = 0;
    virtual Result<void> queue_push(std::string_view key, std::string_view value, Time deadline) = 0;
    /// The oldest item; waits until there is one.
    virtual Result<std::string> queue_pop(std::string_view key, Time deadline) = 0;
    virtual Result<std::int64_t> queue_len(std::string_view key, Time deadline) = 0;
    /// Keys with a value, in no order. Clients of torch put '/' before their users' keys; these are the raw names.
    virtual Result<std::vector<std::string>> list_keys(Time deadline) = 0;
    virtual Result<std::int64_t> num_keys(Time deadline) = 0;
    /// Returns when `world_size` calls have been made for this key. Its counter stays: a key serves once.
    virtual Result<void> barrier(std::string_view key, std::int64_t world_size, Time deadline) = 0;
};

}  // namespace dlaunch::store
