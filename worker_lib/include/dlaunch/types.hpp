#pragma once
/// Element types of messages and collectives.

#include <array>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <type_traits>

#include <dlaunch/standard.hpp>

namespace dlaunch {

enum class DType : std::uint8_t {
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    boolean,
    complex64,   ///< std::complex<float>
    complex128,  ///< std::complex<double>
    bytes,       ///< no number: moved only
};
inline constexpr int kDTypes = 16;

/// In bytes.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
    constexpr std::size_t sizes[kDTypes] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, sizeof(bool), 8, 16, 1};
    return sizes[static_cast<int>(type)];
}
/// Torch's name of the type, such as "float32"; "bool" for boolean.
[[nodiscard]] const char* name_of(DType type);

/// The type of a buffer's elements: a number, an array of numbers, or bytes of a type of the program.
class ElementType {
public:
    /// In bytes.
    static constexpr std::size_t kMaxSize = (std::size_t{1} << 27) - 1;

    constexpr ElementType(DType kind) : ElementType(kind, dlaunch::size_of(kind)) {}  // NOLINT: implicit
    constexpr ElementType(DType kind, std::size_t size) {
        value_ = static_cast<std::uint32_t>(size << 5) | static_cast<std::uint32_t>(kind);
    }

    [[nodiscard]] constexpr DType kind() const { return static_cast<DType>(value_ & 31); }
    [[nodiscard]] constexpr std::size_t size() const { return value_ >> 5; }
    [[nodiscard]] constexpr bool is_number() const {
        return kind() != DType::bytes && size() == dlaunch::size_of(kind());
    }
    friend constexpr bool operator==(ElementType, ElementType) = default;

private:
    std::uint32_t value_ = 0;  // travels with messages: the kind in the low 5 bits, the size in the others
};
[[nodiscard]] constexpr std::size_t size_of(ElementType type) { return type.size(); }
/// "float32", "float64[3]" for an array, "bytes[24]" for any other type.
[[nodiscard]] std::string name_of(ElementType type);

namespace detail {

// The compiler's own 16-bit floats; std::float16_t and std::bfloat16_t are these types.
template <class T>
inline constexpr bool kIsCompilersFloat16 = false;
template <class T>
inline constexpr bool kIsCompilersBFloat16 = false;
#ifdef __FLT16_MANT_DIG__
__extension__ using CompilersFloat16 = _Float16;
template <>
inline constexpr bool kIsCompilersFloat16<CompilersFloat16> = true;
#endif
#ifdef __STDCPP_BFLOAT16_T__
template <>
inline constexpr bool kIsCompilersBFloat16<decltype(0.0bf16)> = true;
#endif

}  // namespace detail

/// IEEE 754 half precision. A storage type: convert to float for arithmetic.
struct Float16 {
    std::uint16_t bits = 0;
    Float16() = default;
    explicit Float16(float value);
    explicit operator float() const;
    friend bool operator==(Float16, Float16) = default;  ///< compares the bits
};

/// The upper half of a float, rounded to nearest even.
struct BFloat16 {
    std::uint16_t bits = 0;
    BFloat16() = default;
    explicit BFloat16(float value);
    explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
    friend bool operator==(BFloat16, BFloat16) = default;  ///< compares the bits
};

namespace detail {

template <class T>
concept StandardInteger = std::integral<T> &&(sizeof(T) <= 8);

template <class T>
consteval DType dtype_of() {
    if constexpr (std::same_as<T, bool>) {
        return DType::boolean;
    } else if constexpr (StandardInteger<T>) {
        constexpr int width = std::bit_width(sizeof(T)) - 1;  // 0, 1, 2, 3 for 1, 2, 4, 8 bytes
        return static_cast<DType>(2 * width + (std::is_signed_v<T> ? 0 : 1));
    } else if constexpr (std::same_as<T, float>) {
        return DType::float32;
    } else if constexpr (std::same_as<T, double>) {
        return DType::float64;
    } else if constexpr (std::same_as<T, Float16> || kIsCompilersFloat16<T>) {
        return DType::float16;
    } else if constexpr (std::same_as<T, BFloat16> || kIsCompilersBFloat16<T>) {
        return DType::bfloat16;
    } else if constexpr (std::same_as<T, std::byte>) {
        return DType::uint8;
    } else if constexpr (std::same_as<T, std::complex<float>>) {
        return DType::complex64;
    } else if constexpr (std::same_as<T, std::complex<double>>) {
        return DType::complex128;
    } else {
        return DType::bytes;
    }
}

}  // namespace detail

/// The number that objects of type T are; DType::bytes: none. A program specializes this constant for types of its own
/// or of other libraries that have the representation of a DType, before the first call that uses them:
///
///     template <> inline constexpr dlaunch::DType dlaunch::kDTypeOf<__half> = dlaunch::DType::float16;
template <class T>
inline constexpr DType kDTypeOf = detail::dtype_of<T>();

/// What reductions take.
template <class T>
concept Number = std::same_as<T, std::remove_cv_t<T>> &&(kDTypeOf<T> != DType::bytes);

template <class T>
struct DeviceSpan;
struct ConstBuffer;
struct MutableBuffer;
class ReduceOp;
struct CallOptions;
struct SendOptions;
struct RecvOptions;
struct SendRecvOptions;
struct BarrierOptions;

namespace detail {

template <class T>
concept Option = std::same_as<T, ReduceOp> || std::same_as<T, CallOptions> || std::same_as<T, SendOptions> ||
    std::same_as<T, RecvOptions> || std::same_as<T, SendRecvOptions> || std::same_as<T, BarrierOptions>;

template <class T>
inline constexpr bool kIsDeviceSpan = false;
template <class T>
inline constexpr bool kIsDeviceSpan<DeviceSpan<T>> = true;

template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t kSize>
inline constexpr bool kIsArray<std::array<T, kSize>> = true;

/// Refers to memory elsewhere: its bytes mean nothing to another rank.
template <class T>
concept Reference = std::is_pointer_v<T> || std::is_null_pointer_v<T> || std::is_member_pointer_v<T> ||
    std::ranges::borrowed_range<T> || kIsDeviceSpan<T> || std::derived_from<T, ConstBuffer> ||
    std::derived_from<T, MutableBuffer>;

}  // namespace detail

/// What calls that only move data take: any trivially copyable type that is no pointer, view or array of C.
template <class T>
concept Element =
    std::same_as<T, std::remove_cv_t<T>> && std::is_trivially_copyable_v<T> && !std::is_array_v<T> &&
    !std::is_empty_v<T> && !detail::Reference<T> && !detail::Option<T> && (sizeof(T) <= ElementType::kMaxSize);

template <Element T>
inline constexpr ElementType kElementTypeOf = [] {
    static_assert(!Number<T> || sizeof(T) == size_of(kDTypeOf<T>),
                  "kDTypeOf is specialized for a type of another size than this DType's");
    if constexpr (Number<T>)
        return ElementType(kDTypeOf<T>);
    else if constexpr (detail::kIsArray<T>)
        return ElementType(kElementTypeOf<typename T::value_type>.kind(), sizeof(T));
    else
        return ElementType(DType::bytes, sizeof(T));
}();

}  // namespace dlaunch
