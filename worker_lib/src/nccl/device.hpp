#pragma once
/// One GPU, and what is ordered on it.

#include <algorithm>
#include <memory>
#include <vector>

#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// The GPU of this worker: the one that the calling thread uses already, else the one numbered LOCAL_RANK, else, where
/// only one is visible, that. Throws Error.
class Gpu {
public:
    Gpu();
    [[nodiscard]] int ordinal() const { return ordinal_; }
    /// Has the calling thread use it from now on.
    void use() const { cuda().check(cuda().set_current_context(context_), "use the GPU"); }

    /// While it lives the calling thread uses the device.
    class InUse {
    public:
        explicit InUse(const Gpu& device);
        ~InUse();
        InUse(const InUse&) = delete;
        InUse& operator=(const InUse&) = delete;

    private:
        Context before_ = nullptr;
    };

private:
    int ordinal_ = 0;
    Context context_ = nullptr;
};

/// A point of a stream.
class Mark {
public:
    Mark() { cuda().check(cuda().create_event(&event_, kEventWithoutTiming), "make an event"); }
    ~Mark() { cuda().destroy_event(event_); }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    /// Here is what the stream holds so far.
    void set(Stream stream) const { cuda().check(cuda().record_event(event_, stream), "record an event"); }
    /// What is given to the stream from now on waits for it.
    void hold_up(Stream stream) const { cuda().check(cuda().wait_for_event(stream, event_, 0), "wait for an event"); }
    /// Whether the stream has come here. Throws where the GPU has failed.
    [[nodiscard]] bool reached() const {
        const int state = cuda().query_event(event_);
        if (state != kCudaNotReady) cuda().check(state, "look at an event");
        return state != kCudaNotReady;
    }

private:
    Event event_ = nullptr;
};

/// Gpu memory.
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

/// Memory for one user's own calls. What it has outgrown is kept as long as it lives: freeing waits for all that the
/// GPU has to do, other groups' calls included, and these may wait for a thread that does the same on another rank.
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
    std::size_t bytes_ = 0;  // of the last
};

/// Both are ordered by the stream; the host's memory may be used again when the stream has come past them.
void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream);
void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream);

}  // namespace dlaunch::worker::nccl
