#pragma once

#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker {

/// Why a group cannot be made, said in its store by the first rank that finds it out: so those who wait for that rank
/// hear it at once. They never ask but when they have waited for a while.
class Refusal {
public:
    Refusal(StoreHandle store, std::string group, int rank)
        : store_(std::move(store)), where_{"new_group", 0, std::move(group)}, rank_(rank) {}

    /// Throws what a rank has said.
    void look() const;
    /// Says it, unless another has said something before; throws what was said.
    [[noreturn]] void say(const Error& why) const;

private:
    const StoreHandle store_;
    const Error::Where where_;
    const int rank_;
};

}  // namespace dlaunch::worker
