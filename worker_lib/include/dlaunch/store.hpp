#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlaunch/options.hpp>

namespace dlaunch {

namespace worker {
class StoreHandle;
}

/// A key-value store shared by the ranks of a group; internal keys of the group are invisible. Any thread. Calls throw
/// Error (timeout, backend).
class Store {
public:
    explicit Store(std::shared_ptr<worker::StoreHandle> handle) : handle_(std::move(handle)) {}

    void set(std::string_view key, std::string_view value);
    /// Waits until the key exists.
    [[nodiscard]] std::string get(std::string_view key, std::chrono::milliseconds timeout = kDefaultTimeout);
    /// Adds to a counter, which starts at 0; returns the new value.
    std::int64_t add(std::string_view key, std::int64_t delta);
    /// Stores `desired` if the value equals `expected`; an empty `expected` also matches a missing key. Returns the
    /// value after the call.
    std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired);
    [[nodiscard]] bool check(std::span<const std::string> keys);
    void wait(std::span<const std::string> keys, std::chrono::milliseconds timeout = kDefaultTimeout);
    bool delete_key(std::string_view key);
    void append(std::string_view key, std::string_view bytes);
    [[nodiscard]] std::vector<std::string> multi_get(std::span<const std::string> keys,
                                                     std::chrono::milliseconds timeout = kDefaultTimeout);
    void multi_set(std::span<const std::pair<std::string, std::string>> pairs);

private:
    std::shared_ptr<worker::StoreHandle> handle_;
};

}  // namespace dlaunch
