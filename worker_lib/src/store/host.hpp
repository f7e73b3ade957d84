#pragma once

#include <memory>
#include <string>

namespace dlaunch::worker {

/// A store served by this process, in a thread of its own: what rank 0 does where no agent does it.
class StoreHost {
public:
    /// Listens where `host`, a name or an address of ours, says; throws Error.
    StoreHost(const std::string& host, int port);
    ~StoreHost();
    StoreHost(const StoreHost&) = delete;
    StoreHost& operator=(const StoreHost&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::worker
