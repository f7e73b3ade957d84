#pragma once
/// The time that the machines of this folder are given: monotonic, never read by them.

#include <chrono>

namespace dlaunch::rendezvous {

using Time = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

inline constexpr Time kNever = Time::max();

}  // namespace dlaunch::rendezvous
