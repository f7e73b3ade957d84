#pragma once
/// A GPU that is none: its memory is the host's, its streams are threads. What a stream is given is done later, in
/// order, and streams wait for each other by events only; so code that forgets one is found out.

#include <atomic>
#include <functional>

namespace fake {

/// Gives the stream something to do; nullptr is the default stream.
void enqueue(void* stream, std::function<void()> job);
/// Whether all of these bytes are memory of the device.
[[nodiscard]] bool is_device_memory(const void* data, std::size_t bytes);
/// Of the calling thread.
[[nodiscard]] int current_device();

/// A number from the environment.
[[nodiscard]] int setting(const char* name, int usual);

}  // namespace fake
