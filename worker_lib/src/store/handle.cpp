#include "worker_lib/src/store/handle.hpp"

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/store/client/file_store.hpp"
#include "rendezvous/store/client/tcp_store.hpp"

namespace dlaunch::worker {
namespace {

[[noreturn]] void fail(const base::Error& error) {
    const bool late = error.status == exit_status::kRendezvousTimeout;
    throw Error(late ? ErrorCode::timeout : ErrorCode::backend, error.text);
}

template <class T>
T value_of(base::Result<T> result) {
    if (!result) fail(result.error());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class TcpSource final : public StoreSource {
public:
    TcpSource(std::string host, int port) : host_(std::move(host)), port_(port) {}

    Lease lease(Time deadline) override {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                auto store = std::move(idle_.back());
                idle_.pop_back();
                store::Store* raw = store.get();
                return {*this, std::move(store), raw};
            }
        }
        std::unique_ptr<store::Store> store = value_of(store::TcpStore::connect(host_, port_, deadline));
        store::Store* raw = store.get();
        return {*this, std::move(store), raw};
    }

private:
    void give_back(std::unique_ptr<store::Store> store) override {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(store));
    }

    const std::string host_;
    const int port_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<store::Store>> idle_;
};

class FileSource final : public StoreSource {
public:
    explicit FileSource(std::unique_ptr<store::FileStore> store) : store_(std::move(store)) {}
    Lease lease(Time) override { return {*this, nullptr, store_.get()}; }

private:
    std::unique_ptr<store::FileStore> store_;  // thread-safe, hence shared by all leases
};

}  // namespace

std::shared_ptr<StoreSource> StoreSource::tcp(const std::string& host, int port, Time deadline) {
    auto source = std::make_shared<TcpSource>(host, port);
    source->lease(deadline);
    return source;
}

std::shared_ptr<StoreSource> StoreSource::file(const std::string& path) {
    return std::make_shared<FileSource>(value_of(store::FileStore::open(path)));
}

std::vector<std::string> StoreHandle::full(std::span<const std::string> keys) const {
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const std::string& key : keys) names.push_back(prefix_ + key);
    return names;
}

void StoreHandle::set(std::string_view key, std::string_view value, Time deadline) const {
    value_of(source_->lease(deadline)->set(full(key), value, deadline));
}
std::string StoreHandle::get(std::string_view key, Time deadline) const {
    if (check_) await({full(key)}, deadline);
    return value_of(source_->lease(deadline)->get(full(key), deadline));
}
std::int64_t StoreHandle::add(std::string_view key, std::int64_t delta, Time deadline) const {
    return value_of(source_->lease(deadline)->add(full(key), delta, deadline));
}
std::string StoreHandle::compare_set(std::string_view key, std::string_view expected, std::string_view desired,
                                     Time deadline) const {
    return value_of(source_->lease(deadline)->compare_set(full(key), expected, desired, deadline));
}
bool StoreHandle::check(std::span<const std::string> keys, Time deadline) const {
    return value_of(source_->lease(deadline)->check(full(keys), deadline));
}
void StoreHandle::wait(std::span<const std::string> keys, Time deadline) const { await(full(keys), deadline); }

void StoreHandle::await(const std::vector<std::string>& keys, Time deadline) const {
    for (;;) {
        const Time until = check_ ? std::min(deadline, Clock::now() + check_interval_) : deadline;
        const base::Result<void> came = source_->lease(deadline)->wait(keys, until);
        if (came) return;
        if (until == deadline || came.error().status != exit_status::kRendezvousTimeout) fail(came.error());
        check_();
    }
}
bool StoreHandle::delete_key(std::string_view key, Time deadline) const {
    return value_of(source_->lease(deadline)->delete_key(full(key), deadline));
}
void StoreHandle::append(std::string_view key, std::string_view bytes, Time deadline) const {
    value_of(source_->lease(deadline)->append(full(key), bytes, deadline));
}
std::vector<std::string> StoreHandle::multi_get(std::span<const std::string> keys, Time deadline) const {
    if (check_) await(full(keys), deadline);
    return value_of(source_->lease(deadline)->multi_get(full(keys), deadline));
}
void StoreHandle::multi_set(std::span<const std::pair<std::string, std::string>> pairs, Time deadline) const {
    std::vector<std::pair<std::string, std::string>> named;
    for (const auto& [key, value] : pairs) named.emplace_back(full(key), value);
    value_of(source_->lease(deadline)->multi_set(named, deadline));
}

}  // namespace dlaunch::worker
