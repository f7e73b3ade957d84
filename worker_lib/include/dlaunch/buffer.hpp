#pragma once
/// What calls read and write: any contiguous range of elements, or one element. The memory stays the caller's, and must
/// live and be left alone until the call, or the Work it returned, is done.

#include <concepts>
#include <memory>
#include <ranges>

#include <dlaunch/types.hpp>

namespace dlaunch {

enum class Device : std::uint8_t { cpu, cuda };

/// Elements in the memory of a GPU: a type of their own, so that no CPU backend takes them by mistake. A call begins
/// when what `stream` holds so far is done, and what is given to the stream after the call, or after its Work::wait(),
/// finds the result: the host does not wait (libdlaunch(3), "Device memory").
template <class T>
struct DeviceSpan {
    T* data = nullptr;
    std::size_t count = 0;
    void* stream = nullptr;  ///< a cudaStream_t or CUstream; nullptr: the default stream
};

/// A vector, an array, a span ...; a temporary only if its elements live elsewhere.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;

template <class R>
concept MutableElementRange =
    ElementRange<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// Whatever holds elements is a buffer. NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload)

struct ConstBuffer {
    const void* data = nullptr;
    std::size_t count = 0;  ///< elements
    DType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;

    ConstBuffer() = default;
    ConstBuffer(const void* where, std::size_t elements, DType of, Device on = Device::cpu, void* ordered_by = nullptr)
        : data(where), count(elements), type(of), device(on), stream(ordered_by) {}
    template <ElementRange R>
    ConstBuffer(R&& range)
        : ConstBuffer(std::ranges::data(range), std::ranges::size(range), kDTypeOf<std::ranges::range_value_t<R>>) {}
    template <Element T>
    ConstBuffer(const T& one) : ConstBuffer(std::addressof(one), 1, kDTypeOf<T>) {}
    template <class T>
    ConstBuffer(DeviceSpan<T> span)
        : ConstBuffer(span.data, span.count, kDTypeOf<std::remove_const_t<T>>, Device::cuda, span.stream) {}
};

struct MutableBuffer {
    void* data = nullptr;
    std::size_t count = 0;  ///< elements
    DType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;

    MutableBuffer() = default;
    MutableBuffer(void* where, std::size_t elements, DType of, Device on = Device::cpu, void* ordered_by = nullptr)
        : data(where), count(elements), type(of), device(on), stream(ordered_by) {}
    template <MutableElementRange R>
    MutableBuffer(R&& range)
        : MutableBuffer(std::ranges::data(range), std::ranges::size(range), kDTypeOf<std::ranges::range_value_t<R>>) {}
    template <Element T>
    MutableBuffer(T& one) : MutableBuffer(std::addressof(one), 1, kDTypeOf<T>) {}
    template <Element T>
    MutableBuffer(DeviceSpan<T> span) : MutableBuffer(span.data, span.count, kDTypeOf<T>, Device::cuda, span.stream) {}

    operator ConstBuffer() const { return {data, count, type, device, stream}; }
};

// NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

}  // namespace dlaunch
