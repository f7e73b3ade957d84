#pragma once
/// Runs a blocking operation (a name look-up, a file on a server) in its own thread while the loop continues.

#include <functional>
#include <memory>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

class Background {
public:
    /// Runs in the thread. Returns the callback that uses the result; the loop calls it.
    using Work = std::function<std::function<void()>()>;

    Background();
    /// Starts the thread at once, without a descriptor; at the limit of processes, as soon as the limit allows. Where
    /// threads are forbidden, `work` runs here and holds up the loop. `work` must own all that it uses: the thread is
    /// detached, and may hang longer than this object lives. The result may be empty.
    Background(Loop& loop, Work work);
    Background(Background&&) noexcept;
    Background& operator=(Background&&) noexcept;
    /// Drops the result. Safe inside the callback.
    ~Background();

    /// Whether a thread of any Background of this process is at work. A hanging system call may delay the exit of the
    /// process.
    [[nodiscard]] static bool any_thread();
    [[nodiscard]] bool busy() const { return state_ != nullptr; }

private:
    struct Shared;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dlaunch::base
