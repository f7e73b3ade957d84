#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/core/capabilities.hpp"
#include "worker_lib/src/core/work_state.hpp"

namespace dlaunch::worker {

/// One message, as far as its sender or receiver names it.
struct Transfer {
    bool sends = false;
    void* data = nullptr;  ///< only read by a send
    std::size_t count = 0;
    DType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;  ///< of device memory
    int peer = -1;           ///< kAnySource of a receive
    int tag = 0;             ///< kAnyTag of a receive
    bool up_to = false;
    bool background = false;  ///< nobody may be waiting: it must go on by itself
    Time deadline{};
};

/// A way to carry calls between the ranks of one group; made by all of them at once. Both functions throw Error; an
/// error other than mismatch and invalid_argument ends the backend, and what is called later throws at once.
class Backend {
public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    /// Carries out one collective. Calls come one at a time, from any thread.
    virtual void run(const Call& call) = 0;
    /// Gives one collective to its stream and does not wait; nullptr where it can only be run(). Not beside run().
    virtual std::shared_ptr<WorkState> enqueue(const Call&) { return nullptr; }
    /// Starts one message; any thread, any time. May be done already.
    virtual std::shared_ptr<WorkState> post(const Transfer& transfer) = 0;
    /// Starts several messages at once.
    virtual std::vector<std::shared_ptr<WorkState>> post(std::span<const Transfer> transfers) {
        std::vector<std::shared_ptr<WorkState>> states;
        for (const Transfer& transfer : transfers) states.push_back(post(transfer));
        return states;
    }
    /// Ends what is pending, from any thread.
    virtual void abort(const std::string& why) = 0;
    /// The same with a reason of another's, which the other ranks are told as this one's.
    virtual void give_up(const Error& why) { abort(why.what()); }
    /// run() among these ranks alone, which the call counts from 0; all that run() does come one at a time. Whose call
    /// fails gives up himself, when he has told those who need it sooner. Empty where a backend has no such thing.
    using Runner = std::function<void(const Call&)>;
    virtual Runner subset(const std::vector<int>&) { return {}; }
    [[nodiscard]] virtual Support supports(Feature feature, Device device) const {
        return dlaunch::supports(name(), feature, device);
    }
    struct Split;
    /// A backend for some of this one's ranks; nullptr: none, or it must be made anew. Called by all ranks, also by
    /// those that are not meant, in the order of collectives.
    virtual std::unique_ptr<Backend> split(const Split&) { return nullptr; }
};

/// Who the group is, for a backend and its messages.
struct Place {
    std::string group;
    int rank = 0, size = 1;
    std::vector<int> names{};  ///< what errors are to call the ranks; empty: as they are

    [[nodiscard]] int name(int r) const { return names.empty() ? r : names[static_cast<std::size_t>(r)]; }
};

}  // namespace dlaunch::worker
