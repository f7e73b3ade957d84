#pragma once
/// How ranks tell each other, through the group's store, that something has gone wrong; the GPUs have no way to.
///
/// Every rank waits for one key of its own, which costs the store nothing. Who gives up sets the keys of all others.
/// Before a time-out is told to the program, all ranks lay open what they called: who came late, or called something
/// else, is named on all ranks alike.

#include <functional>
#include <memory>
#include <optional>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::nccl {

class Alarm {
public:
    /// `heard` is called at most once, from another thread, with what another rank raised.
    Alarm(StoreHandle store, Place place, std::function<void(const Error& why)> heard);
    /// `heard` is not called any more.
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// Tells all others why this rank has given up. Without the store nobody hears it.
    void raise(const Error& why) noexcept;
    /// What another rank has raised, where it has and `heard` has not been called yet.
    [[nodiscard]] std::optional<Error> said() noexcept;
    /// After a time-out, on every rank: what this rank called as that number, if it has come so far; what the error is.
    [[nodiscard]] Error explain(const Error& late, const std::optional<Signature>& ours) noexcept;

private:
    struct Shared;
    const StoreHandle store_;
    const Place place_;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace dlaunch::worker::nccl
