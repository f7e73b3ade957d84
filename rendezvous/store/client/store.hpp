#pragma once
/// A shared map of keys to bytes, as torch.distributed's stores: one interface, several implementations.
///
/// Every call has a deadline, because it may wait for a network or a disk. A time-out is an error with
/// exit_status::kRendezvousTimeout; the store stays usable. An unreachable store is an error with kCoordinatorLost.
/// Keys are at most 8 KiB long, values 8 MiB, and one call takes at most 131072 keys: more is an error without an
/// effect.
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
    /// The value; waits until the key exists. Empty if the key was deleted meanwhile, or is a queue.
    virtual Result<std::string> get(std::string_view key, Time deadline) = 0;
    /// Adds to a counter in decimal text, 0 if the key is missing; returns the new count. A value that is no number is
    /// an error, and closes a network connection.
    virtual Result<std::int64_t> add(std::string_view key, std::int64_t delta, Time deadline) = 0;
    /// If the key's value is `expected`, or `expected` is empty and the key is missing, stores and returns `desired`.
    /// Else returns the present value; for a missing key, `expected`.
    virtual Result<std::string> compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                            Time deadline) = 0;
    /// Whether all of them exist.
    virtual Result<bool> check(Keys keys, Time deadline) = 0;
    /// Returns when each of them has existed.
    virtual Result<void> wait(Keys keys, Time deadline) = 0;
    /// Whether the key had a value. Queues stay.
    virtual Result<bool> delete_key(std::string_view key, Time deadline) = 0;
    /// A value that would grow over 8 MiB stays unchanged; over a network the connection closes, and a later call
    /// returns the error.
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
