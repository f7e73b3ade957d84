#include "rendezvous/base/loop.hpp"

#include <sys/epoll.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Measures turns for an observer only: two readings of the clock per turn cost some 50 ns.
class Turns {
public:
    void measure() { is_measured_ = true; }
    void observe(Duration limit, std::function<void(Duration)> observer) {
        measure();
        limit_ = limit;
        observer_ = std::move(observer);
    }
    void run(const Loop::Callback& call, Time due = Time::max()) {
        if (!is_measured_) return call();
        const Time began = Clock::now();
        began_.store(began.time_since_epoch().count(), std::memory_order_relaxed);
        call();
        began_.store(0, std::memory_order_relaxed);
        if (!observer_) return;
        if (const Duration took = Clock::now() - std::min(began, due); took > limit_) observer_(took);
    }
    [[nodiscard]] Duration current() const {
        const Time::rep began = began_.load(std::memory_order_relaxed);
        return began ? Clock::now() - Time(Duration(began)) : Duration::zero();
    }

private:
    bool is_measured_ = false;
    Duration limit_{};
    std::function<void(Duration)> observer_;
    std::atomic<Time::rep> began_ = 0;
};

}  // namespace

struct Loop::Impl {
    Watch watch(int fd, asio::posix::descriptor_base::wait_type what, Callback callback);

    asio::io_context context{1};
    Turns turns;
};

struct Watch::Impl : std::enable_shared_from_this<Watch::Impl> {
    Impl(asio::io_context& context, Turns& measured, int fd, asio::posix::descriptor_base::wait_type what,
         Loop::Callback callback)
        : turns(measured), descriptor(context, fd), kind(what), call(std::move(callback)) {}

    ~Impl() { descriptor.release(); }

    void arm() {
        descriptor.async_wait(kind, [weak = weak_from_this()](const error_code& error) {
            // Locked for the length of the call, so that a callback may destroy its own Watch.
            auto self = weak.lock();
            if (!self || error || !self->alive) return;
            self->turns.run(self->call);
            if (self->alive) self->arm();
        });
    }

    void end() {
        alive = false;
        descriptor.release();  // cancels pending waits; the owner keeps the descriptor
    }

    Turns& turns;
    asio::posix::stream_descriptor descriptor;
    asio::posix::descriptor_base::wait_type kind;
    Loop::Callback call;
    bool alive = true;
};

Watch::Watch() = default;
Watch::Watch(Watch&&) noexcept = default;

Watch& Watch::operator=(Watch&& other) noexcept {
    if (impl_ && impl_ != other.impl_) impl_->end();
    impl_ = std::move(other.impl_);
    return *this;
}

Watch::~Watch() {
    if (impl_) impl_->end();
}

struct Timer::Impl {
    Impl(asio::io_context& context, Duration duration) : timer(context, duration) {}
    asio::steady_timer timer;
    bool alive = true;
};

Timer::Timer() = default;
Timer::Timer(Timer&&) noexcept = default;

Timer& Timer::operator=(Timer&& other) noexcept {
    if (impl_ && impl_ != other.impl_) {
        impl_->alive = false;
        impl_->timer.cancel();
    }
    impl_ = std::move(other.impl_);
    return *this;
}

Timer::~Timer() {
    if (!impl_) return;
    impl_->alive = false;
    impl_->timer.cancel();
}

// Asio makes its descriptors at the first use; a lack of them must show here, and not in another thread.
Loop::Loop() : impl_(std::make_unique<Impl>()) { const asio::steady_timer first_use(impl_->context); }
Loop::~Loop() = default;

Watch Loop::Impl::watch(int fd, asio::posix::descriptor_base::wait_type what, Callback callback) {
    Watch watch;
    watch.impl_ = std::make_shared<Watch::Impl>(context, turns, fd, what, std::move(callback));
    watch.impl_->arm();
    return watch;
}

bool Loop::can_watch(int fd) {
    const UniqueFd probe(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    return epoll_ctl(probe.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Watch Loop::readable(int fd, Callback callback) {
    return impl_->watch(fd, asio::posix::descriptor_base::wait_read, std::move(callback));
}

Watch Loop::writable(int fd, Callback callback) {
    return impl_->watch(fd, asio::posix::descriptor_base::wait_write, std::move(callback));
}

Watch Loop::hung_up(int fd, Callback callback) {
    return impl_->watch(fd, asio::posix::descriptor_base::wait_error, std::move(callback));
}

Timer Loop::after(Duration duration, Callback callback) {
    Timer timer;
    timer.impl_ = std::make_shared<Timer::Impl>(impl_->context, duration);
    timer.impl_->timer.async_wait(
        [impl = timer.impl_, &turns = impl_->turns, call = std::move(callback)](const error_code& error) {
            if (!error && impl->alive) turns.run(call, impl->timer.expiry());
        });
    return timer;
}

void Loop::post(Callback callback) {
    asio::post(impl_->context, [&turns = impl_->turns, call = std::move(callback)] { turns.run(call); });
}

void Loop::on_lag(Duration limit, std::function<void(Duration)> observer) {
    impl_->turns.observe(limit, std::move(observer));
}

void Loop::measure_turns() { impl_->turns.measure(); }

Duration Loop::in_turn_for() const { return impl_->turns.current(); }

void Loop::run() {
    {
        const auto work = asio::make_work_guard(impl_->context);
        impl_->context.run();
    }
    impl_->context.restart();  // here, so that a stop() before run() counts
}

void Loop::stop() { impl_->context.stop(); }

asio::io_context& Loop::context() { return impl_->context; }

}  // namespace dlaunch::base
