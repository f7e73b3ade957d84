#pragma once
/// Memory of other libraries as arguments of calls: all_reduce(view_of(tensor)). The types are recognized by their
/// members; no header of another library is included. A view has the lifetime of the object's memory. Objects that may
/// own their memory are refused as temporaries at compile time.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <dlaunch/buffer.hpp>
#include <dlaunch/error.hpp>

namespace dlaunch {

/// A stream of CUDA: a cudaStream_t or CUstream, or an object with a member stream(), as c10::cuda::CUDAStream.
template <class S>
concept StreamLike = std::is_pointer_v<std::remove_cvref_t<S>> || requires(const S& stream) {
    { stream.stream() } -> std::convertible_to<void*>;
};

/// As torch::Tensor.
template <class T>
concept TensorLike = requires(const T& tensor) {
    { tensor.data_ptr() } -> std::convertible_to<void*>;
    { tensor.numel() } -> std::integral;
    { tensor.element_size() } -> std::integral;
    { tensor.is_contiguous() } -> std::convertible_to<bool>;
    tensor.scalar_type();
};

/// As Eigen's matrices, arrays, blocks and maps: data() and size(), with strides if it has any.
template <class M>
concept MatrixLike = !TensorLike<M> && requires(M & matrix) {
    requires std::is_pointer_v<decltype(matrix.data())>;
    { matrix.size() } -> std::integral;
};

/// As std::mdspan.
template <class M>
concept MdspanLike = requires(const M& array) {
    requires std::is_pointer_v<decltype(array.data_handle())>;
    { array.size() } -> std::integral;
    { array.is_exhaustive() } -> std::convertible_to<bool>;
};

namespace detail {

template <StreamLike S>
[[nodiscard]] void* stream_of(const S& stream) {
    if constexpr (std::is_pointer_v<S>)
        return stream;
    else
        return stream.stream();
}

[[noreturn]] inline void refuse_view(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "view_of: " + why);
}

/// The number of a torch::ScalarType, by the names of its enumerators; DType::bytes: none.
template <class ScalarType>
[[nodiscard]] DType dtype_named(ScalarType type) {
    switch (type) {
        case ScalarType::Byte: return DType::uint8;
        case ScalarType::Char: return DType::int8;
        case ScalarType::Short: return DType::int16;
        case ScalarType::Int: return DType::int32;
        case ScalarType::Long: return DType::int64;
        case ScalarType::Half: return DType::float16;
        case ScalarType::BFloat16: return DType::bfloat16;
        case ScalarType::Float: return DType::float32;
        case ScalarType::Double: return DType::float64;
        case ScalarType::Bool: return DType::boolean;
        case ScalarType::ComplexFloat: return DType::complex64;
        case ScalarType::ComplexDouble: return DType::complex128;
        default: break;
    }
    if constexpr (requires { ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64; }) {  // since torch 2.3
        if (type == ScalarType::UInt16) return DType::uint16;
        if (type == ScalarType::UInt32) return DType::uint32;
        if (type == ScalarType::UInt64) return DType::uint64;
    }
    return DType::bytes;
}

/// True: no gaps between the elements. A matrix of another library without strides has none.
template <class M>
[[nodiscard]] bool is_gapless(const M& matrix) {
    if constexpr (requires { matrix.innerStride(), matrix.outerStride(), matrix.innerSize(), matrix.outerSize(); })
        return matrix.size() == 0 || ((matrix.innerSize() <= 1 || matrix.innerStride() == 1) &&
                                      (matrix.outerSize() <= 1 || matrix.outerStride() == matrix.innerSize()));
    else
        return true;
}

template <class T>
consteval void expect_no_temporary() {
    if constexpr (!std::is_lvalue_reference_v<T>) static_cast<void>(Refused<T, Mistake::temporary>());
}

}  // namespace detail

/// Elements at an address, in host memory, or in device memory in the order of a stream.
template <class T>
[[nodiscard]] std::span<T> view_of(T* data, std::size_t count) {
    return {data, count};
}
template <class T, StreamLike S>
[[nodiscard]] DeviceSpan<T> view_of(T* data, std::size_t count, const S& stream) {
    return {data, count, detail::stream_of(stream)};
}

/// All elements of a tensor, in host or device memory; `stream`, of device memory: the current stream as a rule,
/// c10::cuda::getCurrentCUDAStream(). Elements that are no DType (float8, quantized) can be moved, not reduced. Throws
/// Error (invalid_argument) for a tensor with gaps, or of another device.
template <class T, StreamLike S = void*>
requires TensorLike<std::remove_cvref_t<T>>
[[nodiscard]] MutableBuffer view_of(T&& tensor, const S& stream = {}) {
    detail::expect_no_temporary<T>();
    if (!tensor.is_contiguous())
        detail::refuse_view(
            "the tensor is not contiguous: pass a variable that holds tensor.contiguous(), and copy_() "
            "a result back");
    const bool on_gpu = [&] {
        if constexpr (requires { tensor.is_cuda(); })
            return static_cast<bool>(tensor.is_cuda());
        else
            return false;
    }();
    if constexpr (requires { tensor.is_cpu(); })
        if (!on_gpu && !tensor.is_cpu())
            detail::refuse_view("the tensor is neither in host memory nor on a CUDA device: pass tensor.cpu()");
    const DType type = detail::dtype_named(tensor.scalar_type());
    return {tensor.data_ptr(), static_cast<std::size_t>(tensor.numel()),
            ElementType(type, static_cast<std::size_t>(tensor.element_size())), on_gpu ? Device::cuda : Device::cpu,
            on_gpu ? detail::stream_of(stream) : nullptr};
}

/// All elements of a matrix in host memory, in the order in which they are stored: the ranks must agree on it. Throws
/// Error (invalid_argument) for a matrix with gaps, such as a block of another.
template <class M>
requires MatrixLike<std::remove_reference_t<M>>
[[nodiscard]] auto view_of(M&& matrix) {
    detail::expect_no_temporary<M>();
    if (!detail::is_gapless(matrix))
        detail::refuse_view("the matrix has gaps between its elements: copy it to a matrix of its own, and back");
    return std::span(matrix.data(), static_cast<std::size_t>(matrix.size()));
}

/// All elements of a multidimensional view of host memory. Throws Error (invalid_argument) if its layout has gaps.
template <class M>
requires MdspanLike<std::remove_cvref_t<M>>
[[nodiscard]] auto view_of(M&& array) {
    if (!array.is_exhaustive())
        detail::refuse_view("the mdspan's layout has gaps between its elements: copy it to an array, and back");
    return std::span(array.data_handle(), static_cast<std::size_t>(array.size()));
}

}  // namespace dlaunch
