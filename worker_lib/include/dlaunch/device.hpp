#pragma once
/// Memory and streams of a GPU for calls with a DeviceSpan, for programs that do not link CUDA. Programs that do can
/// use their own pointers and streams. The first use loads CUDA's driver; without a GPU every function throws Error
/// (backend). Objects may be used from any thread, by one at a time; each use makes the worker's GPU current in the
/// calling thread, see use_device().

#include <span>
#include <vector>

#include <dlaunch/buffer.hpp>

namespace dlaunch {

/// Number of GPUs visible to this process; 0 without a driver.
[[nodiscard]] int device_count();

/// Makes the worker's GPU current in the calling thread: the GPU that is current already, else GPU number LOCAL_RANK,
/// or the only visible one.
void use_device();

/// A CUDA stream, created non-blocking (independent of the default stream).
class DeviceStream {
public:
    DeviceStream();
    ~DeviceStream();
    DeviceStream(const DeviceStream&) = delete;
    DeviceStream& operator=(const DeviceStream&) = delete;

    /// Usable as cudaStream_t and CUstream.
    [[nodiscard]] void* handle() const { return stream_; }
    /// Waits until the stream has executed all its work.
    void synchronize() const;

private:
    void* stream_ = nullptr;
};

/// Bytes in device memory. Copies run in stream order and block the host until they are done.
class DeviceMemory {
public:
    DeviceMemory(std::size_t bytes, void* stream);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;

protected:
    void write(const void* from);
    void read(void* to) const;

    std::size_t bytes_;
    void* stream_;
    void* data_ = nullptr;
};

/// Elements in device memory. Movable: a buffer that was moved from is empty.
template <class T>
class DeviceBuffer : DeviceMemory {
    static_assert(detail::mistake_of_element<T>() == detail::Mistake::none,
                  "no element type: neither a pointer, nor a view, nor a type that owns memory");

public:
    /// Uninitialized elements. Copies and calls run in the order of `stream`.
    explicit DeviceBuffer(std::size_t count, void* stream = nullptr) : DeviceMemory(count * sizeof(T), stream) {}
    explicit DeviceBuffer(std::span<const T> values, void* stream = nullptr) : DeviceBuffer(values.size(), stream) {
        write(values.data());
    }

    [[nodiscard]] std::size_t size() const { return bytes_ / sizeof(T); }
    /// All elements, or a range of them, as an argument for calls.
    [[nodiscard]] DeviceSpan<T> span() { return span(0, size()); }
    [[nodiscard]] DeviceSpan<const T> span() const { return span(0, size()); }
    [[nodiscard]] DeviceSpan<T> span(std::size_t begin, std::size_t count) {
        return {static_cast<T*>(data_) + begin, count, stream_};
    }
    [[nodiscard]] DeviceSpan<const T> span(std::size_t begin, std::size_t count) const {
        return {static_cast<const T*>(data_) + begin, count, stream_};
    }
    /// A copy of the elements, taken after all present work of the stream.
    [[nodiscard]] std::vector<T> to_host() const {
        std::vector<T> values(size());
        read(values.data());
        return values;
    }
    /// The same, into size() elements at `values`.
    void to_host(T* values) const { read(values); }
};

}  // namespace dlaunch
