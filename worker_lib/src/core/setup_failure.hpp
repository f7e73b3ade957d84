#pragma once

#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker {

/// The reason why a group cannot be made. The first rank that fails publishes it in the group's store, and ranks that
/// wait for that rank fail with the same reason. Waiting ranks read the key only after an interval of waiting, so a
/// group that succeeds pays nothing.
class SetupFailure {
public:
    SetupFailure(StoreHandle store, std::string group, int rank)
        : store_(std::move(store)), where_{"new_group", 0, std::move(group)}, rank_(rank) {}

    /// Throws the published Error, if there is one.
    void check() const;
    /// Publishes `why` unless another rank was first; throws the Error that is published.
    [[noreturn]] void publish(const Error& why) const;

private:
    const StoreHandle store_;
    const Error::Where where_;
    const int rank_;
};

}  // namespace dlaunch::worker
