#include "rendezvous/store/client/hash_store.hpp"

namespace dlaunch::store {

Result<std::string> HashStore::exchange(const wire::Request& request, Time) {
    const std::lock_guard lock(mutex_);
    const Slot call = core_.begin();
    auto reply = core_.handle(call, request);
    core_.end(call);
    if (!reply) return reply.error();
    if (reply->changed) something_changed_.notify_all();
    return base::text_result(std::move(reply->bytes));
}

Result<void> HashStore::await(const wire::Request& request, Time deadline) {
    std::unique_lock lock(mutex_);
    const Slot call = core_.begin();
    const auto reply = core_.handle(call, request);
    if (reply && reply->changed) something_changed_.notify_all();
    const bool done = reply && (!reply->bytes.empty() ||
                                something_changed_.wait_until(lock, deadline, [&] { return core_.answered(call); }));
    core_.end(call);
    if (!reply) return reply.error();
    if (!done) return late(request);
    return {};
}

}  // namespace dlaunch::store
