#pragma once
/// The one event loop of a process: Asio behind a narrow door, so that only loop.cpp pays for its headers.
///
/// One thread. Callbacks run from run() only, never from the call that registers them. Destroying a Watch or a
/// Timer cancels it: its callback does not run afterwards.

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace dlaunch::base {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

/// Calls back whenever a descriptor is ready, until it is destroyed. Does not own the descriptor, which must stay
/// open as long as the Watch lives. Regular files cannot be watched, nor one descriptor by two Watches at a time.
class Watch {
public:
    Watch();
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();
    explicit operator bool() const { return impl_ != nullptr; }

    struct Impl;

private:
    friend class Loop;
    std::shared_ptr<Impl> impl_;
};

/// Calls back once, after a duration; destroying it before that cancels it.
class Timer {
public:
    Timer();
    Timer(Timer&&) noexcept;
    Timer& operator=(Timer&&) noexcept;
    ~Timer();
    explicit operator bool() const { return impl_ != nullptr; }

    struct Impl;

private:
    friend class Loop;
    std::shared_ptr<Impl> impl_;
};

class Loop {
public:
    using Callback = std::function<void()>;

    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// `callback` runs each time `fd` is readable (end of file included) until the Watch goes. Ready descriptors are
    /// served in the order in which the kernel saw them become ready: the order of pidfds is the order of deaths.
    [[nodiscard]] Watch readable(int fd, Callback callback);
    [[nodiscard]] Watch writable(int fd, Callback callback);
    [[nodiscard]] Timer after(Duration duration, Callback callback);

    /// `callback` runs at the next turn of the loop, after what is ready now.
    void post(Callback callback);

    /// Serves until stop() is called.
    void run();
    void stop();

    [[nodiscard]] boost::asio::io_context& context();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::base
