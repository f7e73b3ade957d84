#pragma once
/// The time that the state machines get with each event: monotonic; they never read a clock.

#include <chrono>

namespace dlaunch::rendezvous {

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

inline constexpr Time kNever = Time::max();

}  // namespace dlaunch::rendezvous
