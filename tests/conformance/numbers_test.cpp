/// Numbers of other libraries and of the program, which kDTypeOf makes known, and the compiler's own 16-bit floats.

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

/// As __half and c10::Half.
struct OtherHalf {
    std::uint16_t bits;
};
/// As __nv_bfloat16 and c10::BFloat16.
struct OtherBFloat {
    std::uint16_t bits;
};
struct Celsius {
    double degrees;
};
enum class Priority : int { low = 1, high = 9 };

}  // namespace
}  // namespace dlaunch::conformance

template <>
inline constexpr dlaunch::DType dlaunch::kDTypeOf<dlaunch::conformance::OtherHalf> = dlaunch::DType::float16;
template <>
inline constexpr dlaunch::DType dlaunch::kDTypeOf<dlaunch::conformance::OtherBFloat> = dlaunch::DType::bfloat16;
template <>
inline constexpr dlaunch::DType dlaunch::kDTypeOf<dlaunch::conformance::Celsius> = dlaunch::DType::float64;
template <>
inline constexpr dlaunch::DType dlaunch::kDTypeOf<dlaunch::conformance::Priority> = dlaunch::DType::int32;

namespace dlaunch::conformance {
namespace {

static_assert(Number<OtherHalf> && Number<Priority> && kElementTypeOf<OtherHalf> == DType::float16);
static_assert(kElementTypeOf<std::array<Celsius, 3>> == ElementType(DType::float64, 24));
static_assert(!Number<const OtherHalf> && !Number<long double>);

using NumbersTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, NumbersTest, testing::ValuesIn(cases({1, 2, 3}, true)), name_of);

TEST_P(NumbersTest, types_of_other_libraries_are_reduced) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<float>(world.rank()), size = static_cast<float>(world.size());
        const float sum = size * (size - 1) / 2;
        for (const std::size_t count : {1U, 1000U, 70000U}) {
            std::vector<OtherHalf> halves(count, {Float16(rank).bits});
            world.all_reduce(halves);
            check(halves.back().bits == Float16(sum).bits, "the sum of halves");
            std::vector<OtherBFloat> bfloats(count, {BFloat16(rank).bits}), largest(count);
            world.all_reduce(bfloats, largest, ReduceOp::max());
            check(largest.back().bits == BFloat16(size - 1).bits, "the largest of bfloats");
            std::vector<Celsius> warm(count, {double{rank}}), mean(count);
            world.all_reduce(warm, mean, ReduceOp::avg());
            check(mean.back().degrees == double{sum} / double{size}, "the mean of own numbers");
        }
        Priority priority = world.rank() == 0 ? Priority::high : Priority::low;
        world.all_reduce(priority, ReduceOp::max());
        check(priority == Priority::high, "the largest of enumerators");
    });
}

TEST_P(NumbersTest, equal_representations_meet) {
    run([](const ProcessGroup& world) {
        Float16 ours(2);
        OtherHalf theirs{ours.bits};
        world.rank() == 0 ? world.all_reduce(ours) : world.all_reduce(theirs);
        const auto sum = Float16(2 * static_cast<float>(world.size())).bits;
        check((world.rank() == 0 ? ours.bits : theirs.bits) == sum, "the sum");
    });
}

#ifdef __FLT16_MANT_DIG__
TEST_P(NumbersTest, the_compilers_half_is_reduced) {
    run([](const ProcessGroup& world) {
        __extension__ using Half = _Float16;
        std::vector<Half> x(500, static_cast<Half>(0.5F));
        world.all_reduce(x);
        check(static_cast<float>(x.back()) == 0.5F * static_cast<float>(world.size()), "the sum");
    });
}
#endif

}  // namespace
}  // namespace dlaunch::conformance
