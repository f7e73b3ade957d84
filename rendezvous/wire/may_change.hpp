#pragma once

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

/// Whether a request may change the store.
[[nodiscard]] constexpr bool may_change(StoreOperation operation) {
    switch (operation) {
        case StoreOperation::get:
        case StoreOperation::check:
        case StoreOperation::wait:
        case StoreOperation::num_keys:
        case StoreOperation::multi_get:
        case StoreOperation::cancel_wait:
        case StoreOperation::ping:
        case StoreOperation::queue_len:
        case StoreOperation::list_keys: return false;
        default: return true;
    }
}

}  // namespace dlaunch::wire
