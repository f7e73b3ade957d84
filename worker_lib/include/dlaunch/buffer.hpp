#pragma once
/// Arguments of calls: any contiguous range of elements, or a single element (see Element and Number in types.hpp). The
/// caller owns the memory and must keep it valid and unmodified until the call, or the Work that it returned, is done.

#include <concepts>
#include <memory>
#include <ranges>
#include <utility>

#include <dlaunch/mistakes.hpp>
#include <dlaunch/types.hpp>

namespace dlaunch {

enum class Device : std::uint8_t { cpu, cuda };

/// Elements in device memory; a separate type, so that no backend for host memory accepts them by mistake. A call
/// starts after all work that `stream` holds at that time. Work enqueued on the stream after the call, or after its
/// Work::wait(), sees the result; the host does not wait (libdlaunch(3), "Device memory").
template <class T>
struct DeviceSpan {
    T* data = nullptr;
    std::size_t count = 0;
    void* stream = nullptr;  ///< a cudaStream_t or CUstream; nullptr: the default stream
};

/// A vector, an array, a span ...; temporaries only if they do not own their elements (std::span).
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && Element<std::ranges::range_value_t<R>>;

template <class R>
concept MutableElementRange =
    ElementRange<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// Implicit conversions from all element ranges. NOLINTBEGIN(google-explicit-constructor,
// bugprone-forwarding-reference-overload)

struct ConstBuffer {
    const void* data = nullptr;
    std::size_t count = 0;  ///< elements
    ElementType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;

    ConstBuffer() = default;
    ConstBuffer(const void* where, std::size_t elements, ElementType of, Device on = Device::cpu,
                void* ordered_by = nullptr)
        : data(where), count(elements), type(of), device(on), stream(ordered_by) {}
    template <ElementRange R>
    ConstBuffer(R&& range)
        : ConstBuffer(std::ranges::data(range), std::ranges::size(range),
                      kElementTypeOf<std::ranges::range_value_t<R>>) {}
    template <detail::SingleElement T>
    ConstBuffer(const T& one) : ConstBuffer(std::addressof(one), 1, kElementTypeOf<T>) {}
    template <class T>
    requires Element<std::remove_const_t<T>> ConstBuffer(DeviceSpan<T> span)
        : ConstBuffer(span.data, span.count, kElementTypeOf<std::remove_const_t<T>>, Device::cuda, span.stream) {}
    /// Anything else is a compile error that names what to pass.
    template <detail::Mistaken<ConstBuffer, detail::Use::reads> T>
    ConstBuffer(T&&) {
        static_cast<void>(detail::Refused<std::remove_cvref_t<T>, detail::mistake_of<T, detail::Use::reads>()>());
    }
};

struct MutableBuffer {
    void* data = nullptr;
    std::size_t count = 0;  ///< elements
    ElementType type = DType::uint8;
    Device device = Device::cpu;
    void* stream = nullptr;

    MutableBuffer() = default;
    MutableBuffer(void* where, std::size_t elements, ElementType of, Device on = Device::cpu,
                  void* ordered_by = nullptr)
        : data(where), count(elements), type(of), device(on), stream(ordered_by) {}
    template <MutableElementRange R>
    MutableBuffer(R&& range)
        : MutableBuffer(std::ranges::data(range), std::ranges::size(range),
                        kElementTypeOf<std::ranges::range_value_t<R>>) {}
    template <detail::SingleElement T>
    MutableBuffer(T& one) : MutableBuffer(std::addressof(one), 1, kElementTypeOf<T>) {}
    template <Element T>
    MutableBuffer(DeviceSpan<T> span)
        : MutableBuffer(span.data, span.count, kElementTypeOf<T>, Device::cuda, span.stream) {}
    template <detail::Mistaken<MutableBuffer, detail::Use::writes> T>
    MutableBuffer(T&&) {
        static_cast<void>(detail::Refused<std::remove_cvref_t<T>, detail::mistake_of<T, detail::Use::writes>()>());
    }

    operator ConstBuffer() const { return {data, count, type, device, stream}; }
};

/// The ConstBuffer of an asynchronous call, which reads it after the call has returned: no single temporary element.
struct AsyncConstBuffer : ConstBuffer {
    AsyncConstBuffer() = default;
    AsyncConstBuffer(ConstBuffer buffer) : ConstBuffer(buffer) {}
    AsyncConstBuffer(const void* where, std::size_t elements, ElementType of, Device on = Device::cpu,
                     void* ordered_by = nullptr)
        : ConstBuffer(where, elements, of, on, ordered_by) {}
    template <class T>
    requires(!std::derived_from<std::remove_cvref_t<T>, ConstBuffer> && std::convertible_to<T, ConstBuffer>)
        AsyncConstBuffer(T&& argument)
        : ConstBuffer(std::forward<T>(argument)) {
        if constexpr (detail::SingleElement<T>) static_cast<void>(detail::Refused<T, detail::Mistake::temporary>());
    }
};

/// The buffer of a reduction: its elements are numbers. Buffer: ConstBuffer, AsyncConstBuffer or MutableBuffer.
template <class Buffer>
struct Numbers : Buffer {
    Numbers() = default;
    Numbers(Buffer buffer) : Buffer(buffer) {}
    Numbers(decltype(Buffer::data) where, std::size_t elements, ElementType of, Device on = Device::cpu,
            void* ordered_by = nullptr)
        : Buffer(where, elements, of, on, ordered_by) {}
    template <class T>
    requires(!std::derived_from<std::remove_cvref_t<T>, Buffer> && std::convertible_to<T, Buffer>) Numbers(T&& argument)
        : Buffer(std::forward<T>(argument)) {
        if constexpr (Element<detail::ElementsOf<T>> && !Number<detail::ElementsOf<T>>)
            static_cast<void>(detail::Refused<detail::ElementsOf<T>, detail::Mistake::no_number>());
    }
};

// NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

}  // namespace dlaunch
