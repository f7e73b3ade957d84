#include "rendezvous/base/loop.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace dlaunch::base {

namespace asio = boost::asio;
using boost::system::error_code;

struct Watch::Impl : std::enable_shared_from_this<Watch::Impl> {
    Impl(asio::io_context& context, int fd, asio::posix::descriptor_base::wait_type what, Loop::Callback callback)
        : descriptor(context, fd), kind(what), call(std::move(callback)) {}

    ~Impl() { descriptor.release(); }

    void arm() {
        descriptor.async_wait(kind, [weak = weak_from_this()](const error_code& error) {
            // Locked for the length of the call, so that a callback may destroy its own Watch.
            auto self = weak.lock();
            if (!self || error || !self->alive) return;
            self->call();
            if (self->alive) self->arm();
        });
    }

    void end() {
        alive = false;
        descriptor.release();  // cancels pending waits; the owner keeps the descriptor
    }

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

struct Loop::Impl {
    asio::io_context context{1};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

Watch Loop::readable(int fd, Callback callback) {
    Watch watch;
    watch.impl_ =
        std::make_shared<Watch::Impl>(impl_->context, fd, asio::posix::descriptor_base::wait_read, std::move(callback));
    watch.impl_->arm();
    return watch;
}

Watch Loop::writable(int fd, Callback callback) {
    Watch watch;
    watch.impl_ = std::make_shared<Watch::Impl>(impl_->context, fd, asio::posix::descriptor_base::wait_write,
                                                std::move(callback));
    watch.impl_->arm();
    return watch;
}

Timer Loop::after(Duration duration, Callback callback) {
    Timer timer;
    timer.impl_ = std::make_shared<Timer::Impl>(impl_->context, duration);
    timer.impl_->timer.async_wait([impl = timer.impl_, call = std::move(callback)](const error_code& error) {
        if (!error && impl->alive) call();
    });
    return timer;
}

void Loop::post(Callback callback) { asio::post(impl_->context, std::move(callback)); }

void Loop::run() {
    auto work = asio::make_work_guard(impl_->context);
    impl_->context.run();
}

void Loop::stop() { impl_->context.stop(); }

asio::io_context& Loop::context() { return impl_->context; }

}  // namespace dlaunch::base
