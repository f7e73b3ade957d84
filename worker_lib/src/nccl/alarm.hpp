#pragma once
/// How ranks tell each other, through the group's store, that something has gone wrong; the GPUs have no way to.
///
/// Every rank waits for one key of its own, which costs the store nothing. Who gives up sets the keys of all others.
/// Before a time-out is told to the program, all ranks lay open what they called: who came late, or called something
/// else, is named on all ranks alike. Ranks whose calls take long show what they called before that, and look at a few
/// others: so calls that differ end long before their time-out.

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
    /// After a time-out or a mismatch, on every rank: what this rank called as that number, if it has come so far; what
    /// the error is.
    [[nodiscard]] Error explain(const Error& found, const std::optional<Signature>& ours) noexcept;
    /// What one rank has called.
    struct Shown {
        std::uint64_t last = 0;        ///< number of the last call
        bool left = false;             ///< after which it left the group
        std::vector<Signature> calls;  ///< some of them
    };
    void show(const Shown& ours) noexcept;
    /// The error that another rank's words make of a call that is under way, where they do: rank 0 called something
    /// else as one of these numbers, or a rank has left that would have to make this call.
    [[nodiscard]] std::optional<Error> compare(const Error::Where& pending, const Shown& ours) noexcept;

private:
    [[nodiscard]] std::optional<Shown> shown_by(int rank);
    struct Shared;
    const StoreHandle store_;
    const Place place_;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace dlaunch::worker::nccl
