#pragma once
/// The one timer of a state machine, renewed after each of its turns.

#include <algorithm>
#include <utility>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

/// Destroying it cancels it.
class Deadline {
public:
    explicit Deadline(Loop& loop) : loop_(loop) {}

    /// `callback` runs once when `due` has come, in place of the callback set before. Time::max() sets none. Nothing
    /// changes where `due` is already set, so a machine may call this after every turn.
    void set(Time due, Loop::Callback callback) {
        if (due == due_) return;
        due_ = due;
        timer_ = {};
        if (due == Time::max()) return;
        timer_ = loop_.after(std::max(due - Clock::now(), Duration::zero()),
                             [this, callback = std::move(callback)]() mutable {
                                 due_ = Time::max();
                                 const Loop::Callback run = std::move(callback);  // which may set the next one
                                 run();
                             });
    }
    void cancel() {
        timer_ = {};
        due_ = Time::max();
    }

private:
    Loop& loop_;
    Timer timer_;
    Time due_ = Time::max();
};

}  // namespace dlaunch::base
