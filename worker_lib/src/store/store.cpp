#include <dlaunch/store.hpp>

#include "worker_lib/src/store/handle.hpp"

namespace dlaunch {
namespace {

/// Of calls that need not wait for anybody but the store itself.
worker::Time soon() { return worker::Clock::now() + std::chrono::minutes(1); }

}  // namespace

void Store::set(std::string_view key, std::string_view value) { handle_->set(key, value, soon()); }
std::string Store::get(std::string_view key, std::chrono::milliseconds timeout) {
    return handle_->get(key, worker::after(timeout));
}
std::int64_t Store::add(std::string_view key, std::int64_t delta) { return handle_->add(key, delta, soon()); }
std::string Store::compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
    return handle_->compare_set(key, expected, desired, soon());
}
bool Store::check(std::span<const std::string> keys) { return handle_->check(keys, soon()); }
void Store::wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
    handle_->wait(keys, worker::after(timeout));
}
bool Store::delete_key(std::string_view key) { return handle_->delete_key(key, soon()); }
void Store::append(std::string_view key, std::string_view bytes) { handle_->append(key, bytes, soon()); }
std::vector<std::string> Store::multi_get(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
    return handle_->multi_get(keys, worker::after(timeout));
}
void Store::multi_set(std::span<const std::pair<std::string, std::string>> pairs) { handle_->multi_set(pairs, soon()); }

}  // namespace dlaunch
