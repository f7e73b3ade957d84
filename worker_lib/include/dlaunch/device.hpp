#pragma once
/// Memory and streams of a GPU, for programs that bring no CUDA of their own: what calls with a DeviceSpan need. Those
/// that do use pointers and streams of theirs. CUDA's driver is loaded when it is needed; all throw Error (backend)
/// where there is no GPU. Any thread, one at a time; it uses the GPU of its worker from then on (use_device()).

#include <span>
#include <vector>

#include <dlaunch/buffer.hpp>

namespace dlaunch {

/// GPUs that this process sees; 0 where there is no driver.
[[nodiscard]] int device_count();

/// Has the calling thread use the GPU of its worker: the one it uses already, else the one numbered LOCAL_RANK, else,
/// where only one is visible, that.
void use_device();

/// A queue of the GPU's work, independent of all others.
class DeviceStream {
public:
    DeviceStream();
    ~DeviceStream();
    DeviceStream(const DeviceStream&) = delete;
    DeviceStream& operator=(const DeviceStream&) = delete;

    /// A cudaStream_t and a CUstream.
    [[nodiscard]] void* handle() const { return stream_; }
    /// Returns when all that it holds is done.
    void synchronize() const;

private:
    void* stream_ = nullptr;
};

/// Bytes on the GPU; copies are ordered by the stream, and the host waits for them.
class DeviceMemory {
public:
    DeviceMemory(std::size_t bytes, void* stream);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

protected:
    void write(const void* from);
    void read(void* to) const;

    std::size_t bytes_;
    void* stream_;
    void* data_ = nullptr;
};

/// Elements on the GPU.
template <Element T>
class DeviceBuffer : DeviceMemory {
public:
    /// Not initialized. `stream` orders copies and calls.
    explicit DeviceBuffer(std::size_t count, void* stream = nullptr) : DeviceMemory(count * sizeof(T), stream) {}
    explicit DeviceBuffer(std::span<const T> values, void* stream = nullptr) : DeviceBuffer(values.size(), stream) {
        write(values.data());
    }

    [[nodiscard]] std::size_t size() const { return bytes_ / sizeof(T); }
    /// For calls: all elements, or some of them.
    [[nodiscard]] DeviceSpan<T> span() const { return span(0, size()); }
    [[nodiscard]] DeviceSpan<T> span(std::size_t begin, std::size_t count) const {
        return {static_cast<T*>(data_) + begin, count, stream_};
    }
    /// What is there when the stream has done all that it holds now.
    [[nodiscard]] std::vector<T> to_host() const {
        std::vector<T> values(size());
        read(values.data());
        return values;
    }
    /// The same, into as many elements of the caller's.
    void to_host(T* values) const { read(values); }
};

}  // namespace dlaunch
