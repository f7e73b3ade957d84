#pragma once
/// The data of collective_bench, for any type, and the expected results.

#include <dlaunch/buffer.hpp>

#include <cstring>
#include <span>
#include <vector>

/// Calls f with a value of the type.
template <class F>
auto with_type(dlaunch::DType type, F&& f) {
    using dlaunch::DType;
    switch (type) {
        case DType::int8: return f(std::int8_t{});
        case DType::uint8: return f(std::uint8_t{});
        case DType::int16: return f(std::int16_t{});
        case DType::uint16: return f(std::uint16_t{});
        case DType::int32: return f(std::int32_t{});
        case DType::uint32: return f(std::uint32_t{});
        case DType::int64: return f(std::int64_t{});
        case DType::uint64: return f(std::uint64_t{});
        case DType::float16: return f(dlaunch::Float16{});
        case DType::bfloat16: return f(dlaunch::BFloat16{});
        case DType::float32: return f(float{});
        case DType::float64: return f(double{});
        default: return f(bool{});
    }
}

/// A rank's buffers: one block, or one per rank. Element i of rank r is 0, 1 or 2, so that sums are exact in every
/// type, 8-bit ones included.
class Pattern {
public:
    Pattern(dlaunch::DType type, int rank, int ranks, std::size_t each, bool in_all, bool out_all)
        : type_(type),
          rank_(static_cast<std::size_t>(rank)),
          ranks_(static_cast<std::size_t>(ranks)),
          each_(each),
          in_all_(in_all),
          out_all_(out_all),
          in_(bytes(in_all)),
          out_(bytes(out_all)) {
        with_type(type_, [&]<class T>(T) {
            for (std::size_t i = 0; i < count(in_all_); ++i) put(in_, i, made<T>(number(rank_, i)));
            for (std::size_t i = 0; i < count(out_all_); ++i) put(out_, i, made<T>(number(rank_, i)));
        });
    }
    [[nodiscard]] dlaunch::ConstBuffer in() const { return {in_.data(), count(in_all_), type_}; }
    [[nodiscard]] dlaunch::MutableBuffer out() { return {out_.data(), count(out_all_), type_}; }

    /// All bytes of `in` and `out`, as in memory.
    [[nodiscard]] std::span<const std::byte> in_bytes() const { return in_; }
    [[nodiscard]] std::span<std::byte> out_bytes() { return out_; }

    /// Number of elements of `out` that differ from the expected result. `first`: the rank whose data its first block
    /// has, where nothing is summed.
    [[nodiscard]] std::int64_t wrong(bool sums, std::size_t first) const {
        return with_type(type_, [&]<class T>(T) {
            std::int64_t found = 0;
            for (std::size_t at = 0; at < count(out_all_); ++at) {
                const std::size_t i = at % each_ + (in_all_ ? rank_ * each_ : 0);
                int expected = sums ? 0 : number(first + at / each_, i);
                for (std::size_t r = 0; sums && r < ranks_; ++r) expected += number(r, i);
                const T value = made<T>(expected);
                found += std::memcmp(&out_[at * sizeof(T)], &value, sizeof(T)) == 0 ? 0 : 1;
            }
            return found;
        });
    }

private:
    static int number(std::size_t rank, std::size_t i) { return static_cast<int>((rank + i + i / 7) % 3); }
    template <class T>
    static T made(int number) {
        if constexpr (sizeof(T) == 2 && !std::integral<T>)
            return T(static_cast<float>(number));
        else
            return static_cast<T>(number);
    }
    template <class T>
    static void put(std::vector<std::byte>& where, std::size_t i, T value) {
        std::memcpy(&where[i * sizeof(T)], &value, sizeof(T));
    }
    [[nodiscard]] std::size_t count(bool all) const { return each_ * (all ? ranks_ : 1); }
    [[nodiscard]] std::size_t bytes(bool all) const { return count(all) * dlaunch::size_of(type_); }

    dlaunch::DType type_;
    std::size_t rank_, ranks_, each_;
    bool in_all_, out_all_;
    std::vector<std::byte> in_, out_;
};
