#pragma once
/// Reference implementation of reductions: element by element, in rank order.

#include <cstdint>
#include <limits>
#include <vector>

#include <dlaunch/dlaunch.hpp>

namespace dlaunch::conformance {

/// The accumulator: float for 16-bit floats, unsigned for integers, so that overflow is defined.
template <class T>
struct Reckoned {
    using Type = T;
};
template <>
struct Reckoned<Float16> {
    using Type = float;
};
template <>
struct Reckoned<BFloat16> {
    using Type = float;
};

/// Period of the input elements.
constexpr std::size_t kPeriod = 600;

/// Element i of a rank's input: small, so that most types are exact, and different from its neighbours.
template <class T>
T element(int rank, std::size_t i, std::size_t salt = 0) {
    const auto number = (static_cast<std::size_t>(rank) * 3 + i * 7 + salt * 5 + i / 100) % 6;
    if constexpr (std::same_as<T, bool>)
        return number % 2 == 1;
    else if constexpr (std::same_as<T, Float16> || std::same_as<T, BFloat16>)
        return T(static_cast<float>(number));
    else
        return static_cast<T>(number);
}

template <class T>
T combined(ReduceOp op, int ranks, const std::vector<T>& by_rank) {
    using Kind = ReduceOp::Kind;
    using W = typename Reckoned<T>::Type;
    const auto wide = [&](T value) {
        if constexpr (std::same_as<T, bool>)
            return value;
        else
            return op.kind() == Kind::premul_sum ? static_cast<W>(static_cast<W>(value) * static_cast<W>(op.factor()))
                                                 : static_cast<W>(value);
    };
    W result = wide(by_rank[0]);
    for (std::size_t r = 1; r < by_rank.size(); ++r) {
        const W next = wide(by_rank[r]);
        if constexpr (std::same_as<T, bool>) {
            const bool both = op.kind() == Kind::product || op.kind() == Kind::min || op.kind() == Kind::band;
            result = op.kind() == Kind::bxor ? result != next : both ? result && next : result || next;
        } else {
            switch (op.kind()) {
                case Kind::product: result = static_cast<W>(result * next); break;
                case Kind::min: result = std::min(result, next); break;
                case Kind::max: result = std::max(result, next); break;
                case Kind::band:
                case Kind::bor:
                case Kind::bxor:
                    if constexpr (std::integral<T>)
                        result = static_cast<W>(op.kind() == Kind::band  ? result & next
                                                : op.kind() == Kind::bor ? result | next
                                                                         : result ^ next);
                    break;
                default: result = static_cast<W>(result + next);
            }
        }
    }
    if constexpr (!std::same_as<T, bool>)
        if (op.kind() == Kind::avg) result = static_cast<W>(result / static_cast<W>(ranks));
    return T(result);
}

inline std::vector<ReduceOp> all_ops() {
    return {ReduceOp::sum(),  ReduceOp::product(), ReduceOp::min(),  ReduceOp::max(),        ReduceOp::avg(),
            ReduceOp::band(), ReduceOp::bor(),     ReduceOp::bxor(), ReduceOp::premul_sum(2)};
}

/// True: the operation is defined for the type.
template <class T>
bool exists(ReduceOp op) {
    using Kind = ReduceOp::Kind;
    const bool bitwise = op.kind() == Kind::band || op.kind() == Kind::bor || op.kind() == Kind::bxor;
    const bool scaled = op.kind() == Kind::avg || op.kind() == Kind::premul_sum;
    return bitwise ? std::integral<T> : !(scaled && std::same_as<T, bool>);
}

/// All element types.
template <class F>
void for_each_type(F&& f) {
    f.template operator()<std::int8_t>();
    f.template operator()<std::uint8_t>();
    f.template operator()<std::int16_t>();
    f.template operator()<std::uint16_t>();
    f.template operator()<std::int32_t>();
    f.template operator()<std::uint32_t>();
    f.template operator()<std::int64_t>();
    f.template operator()<std::uint64_t>();
    f.template operator()<Float16>();
    f.template operator()<BFloat16>();
    f.template operator()<float>();
    f.template operator()<double>();
    f.template operator()<bool>();
}

/// A buffer of elements: a vector, except for bool, because vector<bool> is not contiguous.
template <class T>
struct Buffer {
    explicit Buffer(std::size_t count) : size(count), data(new T[std::max<std::size_t>(1, count)]()) {}
    [[nodiscard]] std::span<T> span() const { return {data.get(), size}; }
    T& operator[](std::size_t i) const { return data[i]; }
    std::size_t size;
    std::unique_ptr<T[]> data;
};

template <class T>
Buffer<T> input(int rank, std::size_t count, std::size_t salt = 0) {
    Buffer<T> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = i < kPeriod ? element<T>(rank, i, salt) : made[i - kPeriod];
    return made;
}

}  // namespace dlaunch::conformance
