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

/// A type of DType: what reductions take.
template <class T>
concept Number = std::same_as<T, std::remove_cv_t<T>> &&
    ((std::integral<T> && sizeof(T) <= 8) || std::same_as<T, float> || std::same_as<T, double> ||
     std::same_as<T, Float16> || std::same_as<T, BFloat16> || std::same_as<T, std::byte> ||
     std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>);

template <class T>
struct DeviceSpan;
struct ConstBuffer;
struct MutableBuffer;
class ReduceOp;
struct CallOptions;
struct SendOptions;
struct RecvOptions;
struct BarrierOptions;

namespace detail {

template <class T>
concept Option = std::same_as<T, ReduceOp> || std::same_as<T, CallOptions> || std::same_as<T, SendOptions> ||
    std::same_as<T, RecvOptions> || std::same_as<T, BarrierOptions>;

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

template <Number T>
inline constexpr DType kDTypeOf = [] {
    if constexpr (std::same_as<T, bool>) {
        return DType::boolean;
    } else if constexpr (std::same_as<T, float>) {
        return DType::float32;
    } else if constexpr (std::same_as<T, double>) {
        return DType::float64;
    } else if constexpr (std::same_as<T, Float16>) {
        return DType::float16;
    } else if constexpr (std::same_as<T, BFloat16>) {
        return DType::bfloat16;
    } else if constexpr (std::same_as<T, std::byte>) {
        return DType::uint8;
    } else if constexpr (std::same_as<T, std::complex<float>>) {
        return DType::complex64;
    } else if constexpr (std::same_as<T, std::complex<double>>) {
        return DType::complex128;
    } else {
        constexpr int width = std::bit_width(sizeof(T)) - 1;  // 0, 1, 2, 3 for 1, 2, 4, 8 bytes
        return static_cast<DType>(2 * width + (std::is_signed_v<T> ? 0 : 1));
    }
}();

template <Element T>
inline constexpr ElementType kElementTypeOf = [] {
    if constexpr (Number<T>)
        return ElementType(kDTypeOf<T>);
    else if constexpr (detail::kIsArray<T>)
        return ElementType(kElementTypeOf<typename T::value_type>.kind(), sizeof(T));
    else
        return ElementType(DType::bytes, sizeof(T));
}();

}  // namespace dlaunch
