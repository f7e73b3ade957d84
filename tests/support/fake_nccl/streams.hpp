#pragma once
/// A fake GPU: device memory is host memory, streams are threads. Work of a stream runs later, in order; streams are
/// synchronized by events only, so that tests detect a missing event.

#include <atomic>
#include <functional>

namespace fake {

/// Enqueues work on a stream; nullptr is the default stream.
void enqueue(void* stream, std::function<void()> job);
/// True: all of these bytes are device memory.
[[nodiscard]] bool is_device_memory(const void* data, std::size_t bytes);
/// True: kernels on the device can use all of these bytes.
[[nodiscard]] bool is_reachable(const void* data, std::size_t bytes, int device);
void await_all_streams();
/// The GPU of the calling thread; -1: none.
[[nodiscard]] int current_device();

[[nodiscard]] bool is_shut_down();
[[nodiscard]] bool is_captured(void* stream);
/// The result of a call that captures prohibit; such a call invalidates them.
[[nodiscard]] int make_unsafe_call();
/// An integer from the environment.
[[nodiscard]] int setting(const char* name, int usual);

}  // namespace fake
