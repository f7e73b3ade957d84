#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rendezvous/store/client/store.hpp"
#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker {

/// A pool of store connections: one per call in flight, so that a blocking call in one thread does not delay calls in
/// other threads.
class StoreSource {
public:
    virtual ~StoreSource() = default;

    class Lease {
    public:
        Lease(StoreSource& source, std::unique_ptr<store::Store> owned, store::Store* store)
            : source_(source), owned_(std::move(owned)), store_(store) {}
        Lease(Lease&&) = delete;
        ~Lease() {
            if (owned_) source_.give_back(std::move(owned_));
        }
        store::Store* operator->() { return store_; }

    private:
        StoreSource& source_;
        std::unique_ptr<store::Store> owned_;
        store::Store* store_;
    };
    virtual Lease lease(Time deadline) = 0;

    /// Connections to the server at host:port; throws Error if it cannot be reached by the deadline.
    static std::shared_ptr<StoreSource> tcp(const std::string& host, int port, Time deadline);
    static std::shared_ptr<StoreSource> file(const std::string& path);

protected:
    virtual void give_back(std::unique_ptr<store::Store>) {}
};

/// A StoreSource with a prefix that separates the keys of one owner. Every call throws Error (timeout, backend). Any
/// thread.
class StoreHandle {
public:
    StoreHandle(std::shared_ptr<StoreSource> source, std::string prefix)
        : source_(std::move(source)), prefix_(std::move(prefix) + "/") {}
    [[nodiscard]] StoreHandle below(const std::string& name) const {
        StoreHandle handle = *this;
        handle.prefix_.append(name).append("/");
        return handle;
    }
    /// A handle that calls `check` every `interval` of a wait; `check` throws to end a wait for a lost rank.
    [[nodiscard]] StoreHandle with_liveness_check(std::chrono::milliseconds interval,
                                                  std::function<void()> check) const {
        StoreHandle handle = *this;
        handle.check_interval_ = interval;
        handle.check_ = std::move(check);
        return handle;
    }

    /// Runs the check at once, for waits on something other than the store.
    void check_liveness() const {
        if (check_) check_();
    }

    void set(std::string_view key, std::string_view value, Time deadline) const;
    [[nodiscard]] std::string get(std::string_view key, Time deadline) const;
    std::int64_t add(std::string_view key, std::int64_t delta, Time deadline) const;
    std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                            Time deadline) const;
    bool delete_key(std::string_view key, Time deadline) const;
    [[nodiscard]] bool check(std::span<const std::string> keys, Time deadline) const;
    void wait(std::span<const std::string> keys, Time deadline) const;
    void append(std::string_view key, std::string_view bytes, Time deadline) const;
    [[nodiscard]] std::vector<std::string> multi_get(std::span<const std::string> keys, Time deadline) const;
    void multi_set(std::span<const std::pair<std::string, std::string>> pairs, Time deadline) const;

private:
    [[nodiscard]] std::string full(std::string_view key) const { return prefix_ + std::string(key); }
    [[nodiscard]] std::vector<std::string> full(std::span<const std::string> keys) const;
    void await(const std::vector<std::string>& full_keys, Time deadline) const;

    std::shared_ptr<StoreSource> source_;
    std::string prefix_;  // ends with a slash
    std::chrono::milliseconds check_interval_{};
    std::function<void()> check_;
};

}  // namespace dlaunch::worker
