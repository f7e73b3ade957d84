#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/core/capabilities.hpp"
#include "worker_lib/src/core/group_info.hpp"
#include "worker_lib/src/core/work_state.hpp"

namespace dlaunch::worker {

/// One send or receive, as its caller describes it.
struct Transfer {
    bool sends = false;
    void* data = nullptr;  ///< only read by a send
    std::size_t count = 0;
    ElementType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;   ///< of device memory
    int peer = -1;            ///< kAnySource: a receive from any rank
    int tag = 0;              ///< kAnyTag: a receive of any tag
    bool up_to = false;       ///< a receive of at most `count` elements
    bool background = false;  ///< must progress without a thread in wait()
    Time began{};             ///< the start of the call, from which `deadline` counts
    Time deadline{};
};

/// The transport of one group; all ranks construct it together. Calls throw Error. An error other than mismatch and
/// invalid_argument ends the backend: every later call throws at once.
class Backend {
public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    /// Runs one collective. Called from any thread, never concurrently.
    virtual void run(const Call& call) = 0;
    /// Enqueues one collective on its stream without waiting; nullptr: the backend can only run() this call. Never
    /// concurrent with run().
    virtual std::shared_ptr<WorkState> enqueue(const Call&) { return nullptr; }
    /// Starts one message; any thread, concurrently with everything else. The result may be complete already.
    virtual std::shared_ptr<WorkState> post(const Transfer& transfer) = 0;
    /// Starts several messages at once.
    virtual std::vector<std::shared_ptr<WorkState>> post(std::span<const Transfer> transfers) {
        std::vector<std::shared_ptr<WorkState>> states;
        for (const Transfer& transfer : transfers) states.push_back(post(transfer));
        return states;
    }
    /// Ends all pending calls with Error (aborted); any thread.
    virtual void abort(const std::string& why) = 0;
    /// Ends all pending calls with `why` and publishes `why` to the other ranks as this rank's reason; any thread.
    virtual void give_up(const Error& why) { abort(why.what()); }
    /// A function that runs one collective among `ranks` only, numbered from 0 in the call. Never concurrent with
    /// itself. After an error the caller must call give_up(): the function itself leaves the backend usable, so that
    /// the caller can first inform the ranks outside the subset. Empty: the backend has no subsets.
    using Runner = std::function<void(const Call&)>;
    virtual Runner subset(const std::vector<int>&) { return {}; }
    [[nodiscard]] virtual Support supports(Feature feature, Device device) const {
        return dlaunch::supports(name(), feature, device);
    }
    /// The communicator of the named backend ("gloo", "nccl") inside this one; nullptr: there is none. Any thread.
    [[nodiscard]] virtual void* native_handle(std::string_view) { return nullptr; }
    struct Split;
    /// A backend for some of this backend's ranks; nullptr: this rank is no member, or the backend cannot be split and
    /// a new one must be made. Called by all ranks, members or not, in the order of collectives.
    virtual std::unique_ptr<Backend> split(const Split&) { return nullptr; }
    /// This rank does not come to the split with this number: ranks that wait for it there get `why`.
    virtual void refuse_split(int, const Error&) {}
};

}  // namespace dlaunch::worker
