#pragma once

#include "worker_lib/src/core/group_info.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker {

/// The reason why a group cannot be made. The first rank that fails publishes it in the group's store, and ranks that
/// wait for that rank fail with the same reason. Waiting ranks read the key only after an interval of waiting, so a
/// group that succeeds pays nothing.
class SetupFailure {
public:
    SetupFailure(StoreHandle store, const GroupInfo& group)
        : store_(std::move(store)), where_{"new_group", 0, group.name}, rank_(group.rank), named_(group.named(rank_)) {}

    /// Throws the published Error, if there is one.
    void check() const;
    /// Publishes `why` unless another rank was first; throws the Error that is published.
    [[noreturn]] void publish(const Error& why) const;

private:
    const StoreHandle store_;
    const Error::Where where_;
    const int rank_, named_;
};

}  // namespace dlaunch::worker
