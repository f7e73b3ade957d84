#pragma once

#include <condition_variable>
#include <mutex>

#include "rendezvous/store/client/local_core.hpp"
#include "rendezvous/store/client/protocol_store.hpp"

namespace dlaunch::store {

/// A store in this process. Thread-safe.
class HashStore final : public ProtocolStore {
protected:
    Result<std::string> exchange(const wire::Request& request, Time deadline) override;
    Result<void> await(const wire::Request& request, Time deadline) override;

private:
    std::mutex mutex_;
    std::condition_variable something_changed_;
    LocalCore core_;
};

}  // namespace dlaunch::store
