#pragma once
/// RAII wrappers of a GPU's context, events and memory.

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// The GPU of this worker: that of the calling thread's current context; without one, GPU number LOCAL_RANK, or the
/// only visible GPU. Throws Error.
class Gpu {
public:
    Gpu();
    [[nodiscard]] int ordinal() const { return ordinal_; }
    /// Kernels on this GPU can use all memory of the host, whether CUDA knows it or not.
    [[nodiscard]] bool reaches_pageable_memory() const;
    /// On a GPU that does not reach pageable memory: why kernels cannot use `data`, which is memory of the host that
    /// CUDA does not know, or memory of another GPU. nullopt: they can. One call of the driver.
    [[nodiscard]] std::optional<std::string> why_unreachable(const void* data) const;
    /// Makes the GPU current in the calling thread.
    void use() const { cuda().check(cuda().set_current_context(context_), "use the GPU"); }

    /// Makes the GPU current in the calling thread for the guard's lifetime, and exempts the thread from the rules of
    /// captures: while any thread captures a stream into a CUDA graph, queries of events and allocations would fail
    /// and invalidate the capture. They have nothing to do with it, because calls on captured streams are refused.
    class InUse {
    public:
        explicit InUse(const Gpu& device);
        /// For destructors, which may run after CUDA has shut down: failed() then.
        InUse(const Gpu& device, std::nothrow_t) noexcept;
        ~InUse();
        [[nodiscard]] bool failed() const { return failed_; }
        InUse(const InUse&) = delete;
        InUse& operator=(const InUse&) = delete;

    private:
        Context before_ = nullptr;
        int mode_before_ = kCaptureRelaxed;
        bool failed_ = false;
    };

private:
    int ordinal_ = 0;
    Context context_ = nullptr;
};

/// Why no call can be made on the stream: it is being captured into a CUDA graph, or is the default stream while
/// another one is captured. nullopt: it can.
[[nodiscard]] std::optional<std::string> why_captured(Stream stream);

/// A CUDA event: a point in a stream.
class StreamEvent {
public:
    StreamEvent() { cuda().check(cuda().create_event(&event_, kEventWithoutTiming), "make an event"); }
    ~StreamEvent() { cuda().destroy_event(event_); }
    StreamEvent(const StreamEvent&) = delete;
    StreamEvent& operator=(const StreamEvent&) = delete;

    /// Records the event behind all work of the stream so far.
    void record(Stream stream) const { cuda().check(cuda().record_event(event_, stream), "record an event"); }
    /// Makes later work of the stream wait for the event.
    void make_wait(Stream stream) const { cuda().check(cuda().wait_for_event(stream, event_, 0), "wait for an event"); }
    /// True: the stream has passed the event. Throws if the GPU has failed.
    [[nodiscard]] bool completed() const {
        const int state = cuda().query_event(event_);
        if (state != kCudaNotReady) cuda().check(state, "look at an event");
        return state != kCudaNotReady;
    }

private:
    Event event_ = nullptr;
};

/// Device memory.
class Memory {
public:
    explicit Memory(std::size_t bytes) {
        if (bytes > 0) cuda().check(cuda().allocate(&address_, bytes), "allocate device memory");
    }
    ~Memory() {
        if (address_ != 0) cuda().free(address_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] std::byte* data() const {
        return reinterpret_cast<std::byte*>(address_);  // NOLINT(performance-no-int-to-ptr): so CUDA's addresses are
    }

private:
    DevicePointer address_ = 0;
};

/// A growing staging buffer. Outgrown pieces are kept until destruction: cuMemFree waits for all work of the GPU,
/// including other groups' calls, which may depend on a rank that is blocked in cuMemFree as well (deadlock).
class Scratch {
public:
    [[nodiscard]] std::byte* of(std::size_t bytes) {
        if (bytes > bytes_) {
            const std::size_t more = std::max(bytes, 2 * bytes_);
            pieces_.push_back(std::make_unique<Memory>(more));
            bytes_ = more;
        }
        return pieces_.empty() ? nullptr : pieces_.back()->data();
    }

private:
    std::vector<std::unique_ptr<Memory>> pieces_;
    std::size_t bytes_ = 0;  // of the last piece
};

/// Asynchronous copies in stream order; the host buffer is in use until the stream has executed the copy.
void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream);
void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream);

}  // namespace dlaunch::worker::nccl
