#pragma once
/// Time as the state machines receive it with each event: monotonic. They never read a clock.

#include <chrono>

namespace dlaunch::rendezvous {

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

inline constexpr Time kNever = Time::max();

}  // namespace dlaunch::rendezvous
