#pragma once
/// What blocks in the system (a name look-up, a file on a server), done in a thread of its own while the loop goes on.

#include <functional>
#include <memory>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

class Aside {
public:
    /// Done in the thread. Returns what is to be done with the result, which is called from the loop.
    using Work = std::function<std::function<void()>()>;

    Aside();
    /// Begins at once. `work` must own all that it uses: nobody waits for a thread that hangs.
    Aside(Loop& loop, Work work);
    Aside(Aside&&) noexcept;
    Aside& operator=(Aside&&) noexcept;
    /// Drops the result. Safe inside of the call that takes it.
    ~Aside();

    [[nodiscard]] bool busy() const { return state_ != nullptr; }

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dlaunch::base
