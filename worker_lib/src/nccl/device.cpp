#include "worker_lib/src/nccl/device.hpp"

#include <fmt/format.h>

#include <utility>

#include <dlaunch/device.hpp>
#include <dlaunch/error.hpp>
#include "worker_lib/src/bootstrap/environment.hpp"

namespace dlaunch::worker::nccl {

Gpu::Gpu() {
    const CudaTable& table = cuda();
    Context current = nullptr;
    table.check(table.get_current_context(&current), "look for the device in use");
    int device = 0;
    if (current) {
        table.check(table.get_context_device(&device), "look for the device in use");
        ordinal_ = device;
        context_ = current;
        return;
    }
    ordinal_ = table.devices > 1 ? integer_variable("LOCAL_RANK").value_or(0) : 0;
    if (ordinal_ < 0 || ordinal_ >= table.devices)
        throw Error(ErrorCode::backend, fmt::format("nccl: LOCAL_RANK is {}, and {} GPUs are visible: start as many "
                                                    "workers per node as it has GPUs, or choose the device yourself",
                                                    ordinal_, table.devices));
    table.check(table.get_device(&device, ordinal_), "open the GPU");
    table.check(table.retain_primary_context(&context_, device), "open the GPU");
}

bool Gpu::reaches_pageable_memory() const {
    int device = 0, reaches = 0;
    cuda().check(cuda().get_device(&device, ordinal_), "look at the GPU");
    cuda().check(cuda().get_device_attribute(&reaches, kDevicePageableAccess, device), "look at the GPU");
    return reaches != 0;
}

std::optional<std::string> Gpu::why_unreachable(const void* data) const {
    unsigned type = kMemoryUnknown, managed = 0;
    int device = -1, attributes[] = {kPointerMemoryType, kPointerIsManaged, kPointerDevice};
    void* values[] = {&type, &managed, &device};
    const int result = cuda().get_pointer_attributes(3, attributes, values, reinterpret_cast<DevicePointer>(data));
    cuda().check(result, "look at a buffer");
    if (type == kMemoryUnknown) return "host memory that CUDA does not know; pass it as a plain range, or pin it";
    if (type == kMemoryOfDevice && managed == 0 && device != ordinal_)
        return fmt::format("memory of GPU {}, but the group uses GPU {}", device, ordinal_);
    return {};
}

Gpu::InUse::InUse(const Gpu& device) {
    cuda().check(cuda().get_current_context(&before_), "look for the device in use");
    if (before_ != device.context_) cuda().check(cuda().set_current_context(device.context_), "use the GPU");
    cuda().exchange_capture_mode(&mode_before_);
}

Gpu::InUse::InUse(const Gpu& device, std::nothrow_t) noexcept
    : failed_(cuda().get_current_context(&before_) != 0 || cuda().set_current_context(device.context_) != 0) {
    if (!failed_) cuda().exchange_capture_mode(&mode_before_);
}

Gpu::InUse::~InUse() {
    if (failed_) return;
    cuda().exchange_capture_mode(&mode_before_);
    cuda().set_current_context(before_);
}

std::optional<std::string> why_captured(Stream stream) {
    int status = 0;
    const int result = cuda().is_capturing(stream, &status);
    if (result == kCudaCaptureImplicit)
        return "its stream is the default one, which cannot be used while another stream is being captured";
    cuda().check(result, "look at a stream");
    if (status == 0) return {};
    return "its stream is being captured into a CUDA graph; capture NCCL's own calls with native_handle(), or call it "
           "outside of the capture";
}

void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) {
    if (bytes == 0) return;
    cuda().check(cuda().copy_to_device(reinterpret_cast<DevicePointer>(to), from, bytes, stream), "copy to the GPU");
}

void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) {
    if (bytes == 0) return;
    cuda().check(cuda().copy_to_host(to, reinterpret_cast<DevicePointer>(from), bytes, stream), "copy from the GPU");
}

}  // namespace dlaunch::worker::nccl

namespace dlaunch {

namespace nccl = worker::nccl;

namespace {

/// Releases a resource of the GPU; callable from any thread.
template <class F>
void release(F&& f) noexcept {
    try {
        use_device();
        f();
    } catch (const Error&) {
        // The GPU has failed; its resources are gone.
    }
}

}  // namespace

int device_count() {
    try {
        return nccl::cuda().devices;
    } catch (const Error&) {
        return 0;
    }
}

void use_device() {
    // Not a scoped guard: later CUDA calls of this thread are to use this GPU.
    const nccl::Gpu device;
    device.use();
}

DeviceStream::DeviceStream() {
    use_device();
    nccl::cuda().check(nccl::cuda().create_stream(&stream_, nccl::kStreamNonBlocking), "make a stream");
}
DeviceStream::~DeviceStream() {
    release([&] { nccl::cuda().destroy_stream(stream_); });
}
void DeviceStream::synchronize() const {
    use_device();
    nccl::cuda().check(nccl::cuda().synchronize_stream(stream_), "wait for a stream");
}

DeviceMemory::DeviceMemory(std::size_t bytes, void* stream) : bytes_(bytes), stream_(stream) {
    use_device();
    if (bytes == 0) return;
    nccl::DevicePointer address = 0;
    nccl::cuda().check(nccl::cuda().allocate(&address, bytes), "allocate device memory");
    data_ = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): so CUDA's addresses are
}
DeviceMemory::~DeviceMemory() {
    if (data_) release([&] { nccl::cuda().free(reinterpret_cast<nccl::DevicePointer>(data_)); });
}
DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), stream_(other.stream_), data_(std::exchange(other.data_, nullptr)) {}
DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
    DeviceMemory moved(std::move(other));
    std::swap(bytes_, moved.bytes_);
    std::swap(stream_, moved.stream_);
    std::swap(data_, moved.data_);
    return *this;
}
void DeviceMemory::write(const void* from) {
    use_device();
    nccl::copy_to_device(data_, from, bytes_, stream_);
    nccl::cuda().check(nccl::cuda().synchronize_stream(stream_), "copy to the GPU");
}
void DeviceMemory::read(void* to) const {
    use_device();
    nccl::copy_to_host(to, data_, bytes_, stream_);
    nccl::cuda().check(nccl::cuda().synchronize_stream(stream_), "copy from the GPU");
}

}  // namespace dlaunch
