#pragma once
/// Conversions of the two 16-bit floats, free of branches so that compilers can vectorize them.

#include <bit>
#include <cstdint>

namespace dlaunch::worker {

[[gnu::always_inline]] inline std::uint16_t bfloat_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet_nan : rounded);
}

[[gnu::always_inline]] inline float float_from_half(std::uint16_t half) {
    // A multiplication adjusts the exponent; this is correct for subnormal numbers too.
    const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
    const std::uint32_t rest = std::uint32_t{half & 0x7FFFU} << 13;
    const float scaled = std::bit_cast<float>(rest) * 0x1p112F;
    const std::uint32_t special = std::bit_cast<std::uint32_t>(scaled) | 0x7F800000;  // infinity and NaN
    const std::uint32_t bits = rest >= (0x7C00U << 13) ? special : std::bit_cast<std::uint32_t>(scaled);
    return std::bit_cast<float>(bits | sign);
}

[[gnu::always_inline]] inline std::uint16_t half_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7FFFFFFF;
    // Normal: round the dropped 13 bits to nearest even. Subnormal: the addition of 0.5 shifts and rounds in the FPU.
    const std::uint32_t normal = (size + 0xFFF + ((size >> 13) & 1) - (112U << 23)) >> 13;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3F000000;
    std::uint32_t half = size < (113U << 23) ? subnormal : normal;
    half = half > 0x7C00 || size >= (143U << 23) ? 0x7C00 : half;
    half = size > 0x7F800000 ? 0x7E00 : half;
    return static_cast<std::uint16_t>(half | sign);
}

}  // namespace dlaunch::worker
