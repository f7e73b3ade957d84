#pragma once
/// An event loop: a narrow interface to Asio, so that only loop.cpp includes its headers.
///
/// Single-threaded, but for post(), stop() and in_turn_for(). Callbacks run from run() only, never from the call that
/// registers them. Destroying a Watch or a Timer cancels it: its callback does not run afterwards.

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

/// Calls back whenever a descriptor is ready, until the Watch is destroyed. Does not own the descriptor, which must
/// stay open during the Watch's lifetime. Regular files cannot be watched. A descriptor can have only one Watch at a
/// time.
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

/// Calls back once, after a duration; destroying the Timer earlier cancels it.
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

    /// Throws boost::system::system_error without free descriptors.
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// `callback` runs each time `fd` is readable (end of file included) until the Watch is destroyed. Ready
    /// descriptors are served in the order in which they became ready: callbacks of pidfds run in the order of the
    /// exits.
    [[nodiscard]] Watch readable(int fd, Callback callback);
    /// False for files, folders and devices such as /dev/null: epoll refuses them, since they are always ready.
    [[nodiscard]] static bool can_watch(int fd);
    [[nodiscard]] Watch writable(int fd, Callback callback);
    /// `callback` runs when the peer of a socket has closed both directions (EPOLLHUP), or after an error of the
    /// socket.
    [[nodiscard]] Watch hung_up(int fd, Callback callback);
    [[nodiscard]] Timer after(Duration duration, Callback callback);

    /// `callback` runs in the next turn of the loop, after all callbacks that are ready now. From any thread.
    void post(Callback callback);

    /// Runs callbacks until stop() is called, from any thread; may be called again then.
    void run();
    void stop();

    /// `observer` receives the length of each turn (one callback) above `limit`, and the delay of each timer that runs
    /// later than that. Before run(); without it no turn is measured.
    void on_lag(Duration limit, std::function<void(Duration)> observer);
    /// How long the callback that runs now has run; zero between turns. From any thread, once measure_turns() was
    /// called before run().
    [[nodiscard]] Duration in_turn_for() const;
    void measure_turns();

    [[nodiscard]] boost::asio::io_context& context();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::base
