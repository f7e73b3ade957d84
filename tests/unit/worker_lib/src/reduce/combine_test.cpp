#include "worker_lib/src/reduce/combine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace dlaunch::worker {
namespace {

struct Text {
    char letters[5];
};

/// Appends: associative, not commutative.
void append(Text* into, const Text* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) std::strncat(into[i].letters, from[i].letters, 1);
}

Call by(const detail::Combination& function, ElementType type) {
    Call call;
    call.op = Op::all_reduce;
    call.type = type;
    call.function = &function;
    return call;
}

TEST(CombineTest, a_function_combines_from_left_to_right_also_in_place) {
    auto* const function = append;
    const auto combination = detail::Combination::of<Text>(function);
    for (const std::size_t count : {1, 5000})
        for (std::size_t place = 0; place < 3; ++place) {
            std::vector<std::vector<Text>> inputs{{count, Text{"a"}}, {count, Text{"b"}}, {count, Text{"c"}}};
            std::vector<const void*> in;
            for (const auto& input : inputs) in.push_back(input.data());
            combine(by(combination, {DType::bytes, sizeof(Text)}), inputs[place].data(), in.data(), 3, count, 3);
            EXPECT_STREQ(inputs[place].front().letters, "abc");
            EXPECT_STREQ(inputs[place].back().letters, "abc");
        }
}

TEST(CombineTest, a_function_gets_aligned_elements) {
    alignas(8) std::byte bytes[3][20] = {};
    const double values[] = {1, 2};
    for (auto& one : bytes) std::memcpy(one + 3, values, sizeof values);
    bool aligned = true;
    auto function = [&](double* into, const double* from, std::size_t count) {
        aligned = aligned && (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(into)) % 8 == 0;
        for (std::size_t i = 0; i < count; ++i) into[i] += from[i];
    };
    const auto combination = detail::Combination::of<double>(function);
    const void* in[] = {bytes[0] + 3, bytes[1] + 3, bytes[2] + 3};
    double out[2] = {};
    combine(by(combination, DType::float64), out, in, 3, 2, 3);
    EXPECT_TRUE(aligned);
    EXPECT_EQ(out[0], 3);
    EXPECT_EQ(out[1], 6);
}

}  // namespace
}  // namespace dlaunch::worker
