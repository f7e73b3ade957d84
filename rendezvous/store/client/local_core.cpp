#include "rendezvous/store/client/local_core.hpp"

#include <fmt/format.h>

namespace dlaunch::store {

Slot LocalCore::begin() {
    Slot free = 0;
    while (calls_.contains(free)) ++free;
    calls_[free] = false;
    return free;
}

void LocalCore::end(Slot call) {
    core_.close(call);
    calls_.erase(call);
}

Result<LocalCore::Reply> LocalCore::handle(Slot call, const wire::Request& request) {
    Output output;
    const auto verdict = core_.handle(call, request, output);
    for (const Core::Woken& woken : core_.woken()) calls_[woken.connection] = true;
    core_.clear_woken();
    if (verdict != Core::Verdict::refused) return Reply{output.text(), verdict == Core::Verdict::changed};
    const bool growth = request.operation == wire::StoreOperation::append;
    return base::Error{fmt::format("store: {}: {}", request.key,
                                   growth ? "the value would grow over 8 MiB" : "its value is no number")};
}

}  // namespace dlaunch::store
