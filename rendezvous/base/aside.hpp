#pragma once
/// Runs a blocking operation (a name look-up, a file on a server) in its own thread while the loop goes on.

#include <functional>
#include <memory>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

class Aside {
public:
    /// Runs in the thread. Returns the callback that uses the result; the loop calls it.
    using Work = std::function<std::function<void()>()>;

    Aside();
    /// Starts at once. `work` must own all that it uses: the thread is detached, and may hang longer than this object
    /// lives.
    Aside(Loop& loop, Work work);
    Aside(Aside&&) noexcept;
    Aside& operator=(Aside&&) noexcept;
    /// Drops the result. Safe inside the callback.
    ~Aside();

    [[nodiscard]] bool busy() const { return state_ != nullptr; }

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dlaunch::base
