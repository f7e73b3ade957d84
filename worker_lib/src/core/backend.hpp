#pragma once

#include <memory>
#include <string>

#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/core/work_state.hpp"

namespace dlaunch::worker {

/// One message, as far as its sender or receiver names it.
struct Transfer {
    bool sends = false;
    void* data = nullptr;  ///< only read by a send
    std::size_t count = 0;
    DType type = DType::uint8;
    Device device = Device::cpu;
    int peer = -1;  ///< kAnySource of a receive
    int tag = 0;    ///< kAnyTag of a receive
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
    /// Starts one message; any thread, any time. May be done already.
    virtual std::shared_ptr<WorkState> post(const Transfer& transfer) = 0;
    /// Ends what is pending, from any thread.
    virtual void abort(const std::string& why) = 0;
};

/// Who the group is, for a backend and its messages.
struct Place {
    std::string group;
    int rank = 0, size = 1;
};

}  // namespace dlaunch::worker
