#include "worker_lib/src/reduce/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dlaunch::worker {
namespace {

constexpr std::uint16_t kHalfInfinity = 0x7C00, kBFloatInfinity = 0x7F80, kSign = 0x8000;

float bfloat(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

TEST(HalfTest, known_numbers) {
    EXPECT_EQ(half_from_float(0.0F), 0x0000);
    EXPECT_EQ(half_from_float(-0.0F), 0x8000);
    EXPECT_EQ(half_from_float(1.0F), 0x3C00);
    EXPECT_EQ(half_from_float(-2.0F), 0xC000);
    EXPECT_EQ(half_from_float(65504.0F), 0x7BFF) << "the largest";
    EXPECT_EQ(half_from_float(0x1p-14F), 0x0400) << "the smallest that is normal";
    EXPECT_EQ(half_from_float(0x1p-24F), 0x0001) << "the smallest";
    EXPECT_EQ(half_from_float(65520.0F), kHalfInfinity) << "half way to what would be the next";
    EXPECT_EQ(half_from_float(65519.9F), 0x7BFF);
    EXPECT_EQ(half_from_float(std::numeric_limits<float>::max()), kHalfInfinity);
    EXPECT_EQ(half_from_float(-std::numeric_limits<float>::infinity()), kSign | kHalfInfinity);
    EXPECT_EQ(half_from_float(0x1p-25F), 0x0000) << "half way to the smallest";
    EXPECT_EQ(half_from_float(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
}

TEST(HalfTest, every_half_survives_the_conversion_to_float) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = float_from_half(static_cast<std::uint16_t>(bits));
        if ((bits & 0x7FFF) > kHalfInfinity)
            EXPECT_TRUE(std::isnan(value)) << bits;
        else
            EXPECT_EQ(half_from_float(value), bits);
    }
}

TEST(HalfTest, rounds_to_nearest_and_ties_to_even) {
    for (std::uint32_t bits = 0; bits + 1 < kHalfInfinity; ++bits) {
        const float below = float_from_half(static_cast<std::uint16_t>(bits)),
                    above = float_from_half(static_cast<std::uint16_t>(bits + 1)), middle = (below + above) / 2;
        ASSERT_EQ(half_from_float(middle), bits % 2 == 0 ? bits : bits + 1);
        ASSERT_EQ(half_from_float(-middle), kSign | (bits % 2 == 0 ? bits : bits + 1));
        ASSERT_EQ(half_from_float(std::nextafter(middle, 0.0F)), bits);
        ASSERT_EQ(half_from_float(std::nextafter(middle, 1e9F)), bits + 1);
    }
}

TEST(BFloatTest, rounds_to_nearest_and_ties_to_even) {
    for (std::uint32_t bits = 0; bits + 1 < kBFloatInfinity; ++bits) {
        const float middle = std::bit_cast<float>(bits << 16 | 0x8000);
        ASSERT_EQ(bfloat_from_float(bfloat(bits)), bits);
        ASSERT_EQ(bfloat_from_float(middle), bits % 2 == 0 ? bits : bits + 1);
        ASSERT_EQ(bfloat_from_float(-middle), kSign | (bits % 2 == 0 ? bits : bits + 1));
        ASSERT_EQ(bfloat_from_float(std::bit_cast<float>(bits << 16 | 0x7FFF)), bits);
        ASSERT_EQ(bfloat_from_float(std::bit_cast<float>(bits << 16 | 0x8001)), bits + 1);
    }
    EXPECT_EQ(bfloat_from_float(std::numeric_limits<float>::max()), kBFloatInfinity);
}

TEST(BothTest, nan_stays_nan) {
    for (const std::uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU}) {
        const auto nan = std::bit_cast<float>(bits);
        EXPECT_TRUE(std::isnan(float_from_half(half_from_float(nan)))) << std::hex << bits;
        EXPECT_TRUE(std::isnan(bfloat(bfloat_from_float(nan)))) << std::hex << bits;
    }
}

}  // namespace
}  // namespace dlaunch::worker
