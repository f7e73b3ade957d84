#include "worker_lib/src/reduce/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace dlaunch::worker {

namespace baseline {
extern const KernelTable kTable;
}
#ifdef __x86_64__
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#endif

namespace {

using Kind = ReduceOp::Kind;
constexpr int kKinds = 9;

template <class T>
T reduced(ReduceOp op, std::initializer_list<T> values) {
    std::vector<const void*> in;
    for (const T& value : values) in.push_back(&value);
    T out{};
    const int ranks = static_cast<int>(values.size());
    kernel(kDTypeOf<T>, op)(&out, in.data(), ranks, 1, op.factor(), ranks);
    return out;
}

TEST(KernelsTest, integers_wrap_around) {
    EXPECT_EQ(reduced<std::int8_t>(ReduceOp::sum(), {127, 1}), -128);
    EXPECT_EQ(reduced<std::int32_t>(ReduceOp::sum(), {std::numeric_limits<int>::max(), 2, -1}),
              std::numeric_limits<int>::min());
    EXPECT_EQ(reduced<std::int16_t>(ReduceOp::product(), {300, 300}), static_cast<std::int16_t>(90000));
    EXPECT_EQ(reduced<std::uint16_t>(ReduceOp::product(), {0xFFFF, 0xFFFF}), 1);
    EXPECT_EQ(reduced<std::int64_t>(ReduceOp::premul_sum(-2), {3, 4}), -14);
}

TEST(KernelsTest, averages_of_integers_round_towards_zero) {
    EXPECT_EQ(reduced<int>(ReduceOp::avg(), {-3, -4}), -3);
    EXPECT_EQ(reduced<int>(ReduceOp::avg(), {3, 4}), 3);
    EXPECT_EQ(reduced<std::uint8_t>(ReduceOp::avg(), {200, 50, 5}), 85) << "the sum fits";
}

TEST(KernelsTest, averages_of_short_integers_are_taken_of_the_exact_sum) {
    EXPECT_EQ(reduced<std::int8_t>(ReduceOp::avg(), {100, 100}), 100);
    EXPECT_EQ(reduced<std::int8_t>(ReduceOp::avg(), {-128, -128, -128}), -128);
    EXPECT_EQ(reduced<std::uint8_t>(ReduceOp::avg(), {255, 255, 254}), 254);
    EXPECT_EQ(reduced<std::int16_t>(ReduceOp::avg(), {-30000, -30000, -29998}), -29999);
    EXPECT_EQ(reduced<std::uint16_t>(ReduceOp::avg(), {65535}), 65535);
}

TEST(KernelsTest, complex_numbers) {
    using Number = std::complex<double>;
    const Number a(1, 2), b(-3, 0.5);
    EXPECT_EQ(reduced<Number>(ReduceOp::sum(), {a, b, a}), a + b + a);
    EXPECT_EQ(reduced<Number>(ReduceOp::product(), {a, b}), a * b);
    EXPECT_EQ(reduced<Number>(ReduceOp::avg(), {a, b}), (a + b) / 2.0);
    EXPECT_EQ(reduced<Number>(ReduceOp::premul_sum(0.5), {a, b}), 0.5 * a + 0.5 * b);
    for (const ReduceOp op : {ReduceOp::min(), ReduceOp::max(), ReduceOp::band()})
        EXPECT_EQ(kernel(DType::complex64, op), nullptr);
    EXPECT_EQ(kernel(ElementType(DType::float64, 24), ReduceOp::sum()), nullptr) << "an array";
    EXPECT_EQ(kernel(DType::bytes, ReduceOp::sum()), nullptr);
}

TEST(KernelsTest, averages_over_more_ranks_than_the_type_holds) {
    const std::int8_t large = 100, none = 0;
    const std::uint8_t one = 1;
    std::vector<const void*> in(200, &none);
    in[7] = &large;
    std::int8_t out = -1;
    kernel(DType::int8, ReduceOp::avg())(&out, in.data(), 200, 1, 1, 200);
    EXPECT_EQ(out, 0) << "100 / 200";
    const std::vector<const void*> ones(256, &one);
    std::uint8_t sum = 7;
    kernel(DType::uint8, ReduceOp::avg())(&sum, ones.data(), 256, 1, 1, 256);
    EXPECT_EQ(sum, 1) << "neither the sum nor the number of ranks wraps around";
}

TEST(KernelsTest, factors_wrap_around_as_integers_do) {
    EXPECT_EQ(reduced<std::uint8_t>(ReduceOp::premul_sum(-1), {3, 4}), 249);
    EXPECT_EQ(reduced<std::int8_t>(ReduceOp::premul_sum(300), {1, 1}), 88);
    EXPECT_EQ(reduced<std::uint64_t>(ReduceOp::premul_sum(-2), {1, 0}), std::numeric_limits<std::uint64_t>::max() - 1);
}

TEST(KernelsTest, bools_use_and_and_or) {
    EXPECT_TRUE(reduced<bool>(ReduceOp::sum(), {true, true, true}));
    EXPECT_FALSE(reduced<bool>(ReduceOp::product(), {true, false}));
    EXPECT_FALSE(reduced<bool>(ReduceOp::bxor(), {true, true}));
    EXPECT_TRUE(reduced<bool>(ReduceOp::bxor(), {true, true, true}));
}

TEST(KernelsTest, small_floats_are_accumulated_in_float) {
    // In half precision 2048 + 1 would round to 2048, because the next half is 2050.
    EXPECT_EQ(static_cast<float>(reduced<Float16>(ReduceOp::sum(), {Float16(2048), Float16(1), Float16(1)})), 2050);
    EXPECT_EQ(static_cast<float>(reduced<BFloat16>(ReduceOp::sum(), {BFloat16(256), BFloat16(1), BFloat16(1)})), 258);
    EXPECT_EQ(static_cast<float>(reduced<Float16>(ReduceOp::avg(), {Float16(60000), Float16(60000)})), 60000)
        << "though the sum is more than a half can hold";
}

TEST(KernelsTest, floats_are_combined_in_rank_order) {
    EXPECT_EQ(reduced<float>(ReduceOp::sum(), {1e8F, -1e8F, 1.0F}), 1.0F);
    EXPECT_EQ(reduced<float>(ReduceOp::sum(), {1.0F, 1e8F, -1e8F}), 0.0F);
    EXPECT_TRUE(std::isnan(reduced<double>(ReduceOp::sum(), {1, std::nan(""), 1})));
}

TEST(KernelsTest, operations_exist_for_the_right_types) {
    for (const Kind kind : {Kind::band, Kind::bor, Kind::bxor})
        for (const DType type : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
            EXPECT_EQ(kernels().at[static_cast<int>(type)][static_cast<int>(kind)], nullptr);
    EXPECT_EQ(kernel(DType::boolean, ReduceOp::avg()), nullptr);
    EXPECT_EQ(kernel(DType::boolean, ReduceOp::premul_sum(2)), nullptr);
    EXPECT_NE(kernel(DType::boolean, ReduceOp::bxor()), nullptr);
}

/// Random bits, which include NaN, infinities and subnormal numbers if interpreted as floats.
std::vector<std::byte> noise(DType type, std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(count * size_of(type));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(type == DType::boolean ? random() % 2 : random());
    return bytes;
}

/// True: each number's bits are equal, or both are NaN; the processor chooses which of two NaNs it propagates.
template <class T>
bool same_numbers(const std::byte* a, const std::byte* b, std::size_t numbers) {
    for (std::size_t i = 0; i < numbers * sizeof(T); i += sizeof(T)) {
        T x, y;
        std::memcpy(&x, a + i, sizeof x);
        std::memcpy(&y, b + i, sizeof y);
        const auto is_nan = [](T number) {
            return std::isnan(static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(number)));
        };
        if (std::memcmp(&x, &y, sizeof x) != 0 && !(is_nan(x) && is_nan(y))) return false;
    }
    return true;
}

bool same(DType type, const std::byte* a, const std::byte* b) {
    switch (type) {
        case DType::float16: return same_numbers<Float16>(a, b, 1);
        case DType::bfloat16: return same_numbers<BFloat16>(a, b, 1);
        case DType::float32: return same_numbers<float>(a, b, 1);
        case DType::float64: return same_numbers<double>(a, b, 1);
        case DType::complex64: return same_numbers<float>(a, b, 2);
        case DType::complex128: return same_numbers<double>(a, b, 2);
        default: return std::memcmp(a, b, size_of(type)) == 0;
    }
}

/// Compares every kernel of `other` with the baseline's on random input, out of place and in place of the last input.
void compare_with_baseline(const KernelTable& other) {
    for (int type = 0; type < kDTypes; ++type)
        for (int kind = 0; kind < kKinds; ++kind)
            for (const int inputs : {1, 2, 3, 5})
                for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{1500}}) {
                    const ReduceKernel expected = baseline::kTable.at[type][kind], got = other.at[type][kind];
                    ASSERT_EQ(expected == nullptr, got == nullptr);
                    if (!expected) continue;
                    const auto dtype = static_cast<DType>(type);
                    std::vector<std::vector<std::byte>> data;
                    std::vector<const void*> in;
                    for (int i = 0; i < inputs; ++i)
                        data.push_back(noise(dtype, count, static_cast<std::uint32_t>(type * 100 + i)));
                    for (const auto& one : data) in.push_back(one.data());
                    std::vector<std::byte> first(data[0].size()), second(data[0].size());
                    expected(first.data(), in.data(), inputs, count, 3, inputs);
                    got(second.data(), in.data(), inputs, count, 3, inputs);
                    got(data.back().data(), in.data(), inputs, count, 3, inputs);
                    const std::size_t size = size_of(dtype);
                    for (std::size_t i = 0; i < count * size; i += size) {
                        ASSERT_TRUE(same(dtype, &first[i], &second[i]))
                            << name_of(dtype) << ", operation " << kind << ", " << inputs << " inputs, element " << i;
                        ASSERT_TRUE(same(dtype, &first[i], &data.back()[i])) << "in place: " << name_of(dtype);
                    }
                }
}

TEST(KernelsTest, the_selected_instruction_set_equals_the_baseline) { compare_with_baseline(kernels()); }

#ifdef __x86_64__
TEST(KernelsTest, avx2_equals_the_baseline) {
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
    compare_with_baseline(avx2::kTable);
}

TEST(KernelsTest, avx512_equals_the_baseline) {
    if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "this processor has no AVX-512";
    compare_with_baseline(avx512::kTable);
}
#endif

}  // namespace
}  // namespace dlaunch::worker
