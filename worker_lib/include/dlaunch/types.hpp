#pragma once
/// Element types of messages and collectives.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
};
inline constexpr int kDTypes = 13;

/// In bytes.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
    constexpr std::size_t sizes[kDTypes] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, sizeof(bool)};
    return sizes[static_cast<int>(type)];
}
/// Torch's name of the type, such as "float32"; "bool" for boolean.
[[nodiscard]] const char* name_of(DType type);

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

template <class T>
concept Element = std::same_as<T, std::remove_cv_t<T>> &&
    ((std::integral<T> && sizeof(T) <= 8) || std::same_as<T, float> || std::same_as<T, double> ||
     std::same_as<T, Float16> || std::same_as<T, BFloat16> || std::same_as<T, std::byte>);

template <Element T>
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
    } else {
        constexpr int width = std::bit_width(sizeof(T)) - 1;  // 0, 1, 2, 3 for 1, 2, 4, 8 bytes
        return static_cast<DType>(2 * width + (std::is_signed_v<T> ? 0 : 1));
    }
}();

}  // namespace dlaunch
