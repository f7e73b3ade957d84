#include <dlaunch/store.hpp>

#include "worker_lib/src/store/handle.hpp"

namespace dlaunch {
namespace {

/// Deadline of calls that wait for the server only, never for another rank.
worker::Time server_deadline() { return worker::Clock::now() + std::chrono::minutes(1); }

}  // namespace

void Store::set(std::string_view key, std::string_view value) { handle_->set(key, value, server_deadline()); }
std::string Store::get(std::string_view key, std::chrono::milliseconds timeout) {
    return handle_->get(key, worker::after(timeout));
}
std::int64_t Store::add(std::string_view key, std::int64_t delta) {
    return handle_->add(key, delta, server_deadline());
}
std::string Store::compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
    return handle_->compare_set(key, expected, desired, server_deadline());
}
bool Store::check(std::span<const std::string> keys) { return handle_->check(keys, server_deadline()); }
void Store::wait(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
    handle_->wait(keys, worker::after(timeout));
}
bool Store::delete_key(std::string_view key) { return handle_->delete_key(key, server_deadline()); }
void Store::append(std::string_view key, std::string_view bytes) { handle_->append(key, bytes, server_deadline()); }
std::vector<std::string> Store::multi_get(std::span<const std::string> keys, std::chrono::milliseconds timeout) {
    return handle_->multi_get(keys, worker::after(timeout));
}
void Store::multi_set(std::span<const std::pair<std::string, std::string>> pairs) {
    handle_->multi_set(pairs, server_deadline());
}

}  // namespace dlaunch
