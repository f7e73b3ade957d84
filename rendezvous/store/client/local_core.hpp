#pragma once

#include <map>

#include "rendezvous/store/client/store.hpp"
#include "rendezvous/store/core/core.hpp"

namespace dlaunch::store {

/// The core for callers in this process: each call is a connection while it lasts. Not thread-safe.
class LocalCore {
public:
    /// One call in progress.
    Slot begin();
    void end(Slot call);

    struct Reply {
        std::string bytes;
        bool changed = false;  ///< a key or a queue changed
    };
    Result<Reply> handle(Slot call, const wire::Request& request);
    /// Whether this call's pending WAIT or BARRIER has been answered.
    [[nodiscard]] bool answered(Slot call) const { return calls_.at(call); }

private:
    Core core_;
    std::map<Slot, bool> calls_;
};

}  // namespace dlaunch::store
