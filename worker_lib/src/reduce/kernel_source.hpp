#pragma once
/// Included once per instruction set, with DLAUNCH_KERNELS as the name of its namespace. Every function is in that
/// namespace and has internal linkage, so that the linker cannot merge functions of different instruction sets.
///
/// A reduction processes its inputs in blocks that fit into the L1 cache. It combines the block's first two inputs into
/// a buffer, then adds the other inputs one by one, the last one directly into `out`. Each input is read once, `out` is
/// written once, and an input that aliases `out` is read before it is overwritten.

#include <type_traits>
#include <utility>

#include "worker_lib/src/reduce/half.hpp"
#include "worker_lib/src/reduce/kernels.hpp"

/// `out` may alias an input, but only at the same index; so vectorization is safe.
#ifdef __clang__
#define DLAUNCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DLAUNCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace dlaunch::worker::DLAUNCH_KERNELS {
namespace {

using Kind = ReduceOp::Kind;

constexpr std::size_t kBlockBytes = 4096;

/// The accumulator type of an element type, and the conversions.
template <class T>
struct Wide {
    using Type = T;
    static T widen(T value) { return value; }
    static T narrow(T value) { return value; }
};
template <>
struct Wide<Float16> {
    using Type = float;
    static float widen(Float16 value) { return float_from_half(value.bits); }
    static Float16 narrow(float value) {
        Float16 half;
        half.bits = half_from_float(value);
        return half;
    }
};
template <>
struct Wide<BFloat16> {
    using Type = float;
    static float widen(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }
    static BFloat16 narrow(float value) {
        BFloat16 half;
        half.bits = bfloat_from_float(value);
        return half;
    }
};

/// std::complex without its functions, which have external linkage, see above.
template <class F>
struct Complex {
    F real, imaginary;

    Complex() = default;
    explicit Complex(double value) : real(static_cast<F>(value)), imaginary(0) {}
    Complex(F a, F b) : real(a), imaginary(b) {}
    friend Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
    friend Complex operator*(Complex a, Complex b) {
        return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
    }
    friend Complex operator/(Complex a, int b) { return {a.real / static_cast<F>(b), a.imaginary / static_cast<F>(b)}; }
};
template <class T>
constexpr bool kIsComplex = false;
template <class F>
constexpr bool kIsComplex<Complex<F>> = true;

/// The accumulator of averages of short integers, which holds the exact sum.
template <class T>
struct Exact {
    using Type = std::int64_t;
    static std::int64_t widen(T value) { return value; }
    static T narrow(std::int64_t value) { return static_cast<T>(value); }
};
template <Kind K, class T>
using Accumulated = std::conditional_t<K == Kind::avg && std::is_integral_v<T> && sizeof(T) <= 2, Exact<T>, Wide<T>>;

/// Applies f in unsigned arithmetic, so that signed integers wrap around too.
template <class W, class F>
W wrapping(W a, W b, F f) {
    if constexpr (std::is_integral_v<W> && !std::is_same_v<W, bool>) {
        using U = std::conditional_t<(sizeof(W) < sizeof(unsigned)), unsigned, std::make_unsigned_t<W>>;
        return static_cast<W>(f(static_cast<U>(a), static_cast<U>(b)));
    } else {
        return static_cast<W>(f(a, b));
    }
}

template <Kind K, class W>
W combine(W a, W b) {
    if constexpr (std::is_same_v<W, bool>) {
        if constexpr (K == Kind::product || K == Kind::min || K == Kind::band)
            return a & b;
        else if constexpr (K == Kind::bxor)
            return a ^ b;
        else
            return a | b;
    } else if constexpr (K == Kind::product) {
        return wrapping(a, b, [](auto x, auto y) { return x * y; });
    } else if constexpr (K == Kind::min) {
        return b < a ? b : a;
    } else if constexpr (K == Kind::max) {
        return a < b ? b : a;
    } else if constexpr (K == Kind::band) {
        return static_cast<W>(a & b);
    } else if constexpr (K == Kind::bor) {
        return static_cast<W>(a | b);
    } else if constexpr (K == Kind::bxor) {
        return static_cast<W>(a ^ b);
    } else {
        return wrapping(a, b, [](auto x, auto y) { return x + y; });
    }
}

template <class W>
W divide(W value, int ranks) {
    if constexpr (kIsComplex<W>)
        return value / ranks;
    else
        return static_cast<W>(value / static_cast<decltype(W{} + ranks)>(ranks));
}

template <Kind K, class T>
constexpr bool exists() {
    constexpr bool bitwise = K == Kind::band || K == Kind::bor || K == Kind::bxor;
    constexpr bool scaled = K == Kind::avg || K == Kind::premul_sum;
    constexpr bool ordered = K == Kind::min || K == Kind::max;
    if constexpr (kIsComplex<T>) return !bitwise && !ordered;
    return bitwise ? std::is_integral_v<T> : !(scaled && std::is_same_v<T, bool>);
}

template <Kind K, class T>
void reduce(void* out_bytes, const void* const* in, int inputs, std::size_t count, double factor, int ranks) {
    using Wider = Accumulated<K, T>;
    using W = typename Wider::Type;
    constexpr std::size_t kBlock = kBlockBytes / sizeof(W);
    // For integer elements the factor is an integer; out-of-range factors wrap around.
    using Factor = std::conditional_t<std::is_integral_v<W>, std::int64_t, W>;
    [[maybe_unused]] const W scale = static_cast<W>(static_cast<Factor>(factor));
    const auto first = [&](T value) {
        if constexpr (K == Kind::premul_sum)
            return wrapping(Wider::widen(value), scale, [](auto x, auto y) { return x * y; });
        else
            return Wider::widen(value);
    };
    const auto last = [&](W value) {
        if constexpr (K == Kind::avg)
            return Wider::narrow(divide(value, ranks));
        else
            return Wider::narrow(value);
    };
    T* out = static_cast<T*>(out_bytes);
    alignas(64) W sums[kBlock];  // not std::array: its functions have external linkage, see above
    for (std::size_t at = 0; at < count; at += kBlock) {
        const std::size_t size = count - at < kBlock ? count - at : kBlock;
        const T* a = static_cast<const T*>(in[0]) + at;
        if (inputs == 1) {
            DLAUNCH_INDEPENDENT
            for (std::size_t i = 0; i < size; ++i) out[at + i] = last(first(a[i]));
            continue;
        }
        const T* b = static_cast<const T*>(in[1]) + at;
        if (inputs == 2) {
            DLAUNCH_INDEPENDENT
            for (std::size_t i = 0; i < size; ++i) out[at + i] = last(combine<K, W>(first(a[i]), first(b[i])));
            continue;
        }
        DLAUNCH_INDEPENDENT
        for (std::size_t i = 0; i < size; ++i) sums[i] = combine<K, W>(first(a[i]), first(b[i]));
        for (int input = 2; input < inputs - 1; ++input) {
            const T* c = static_cast<const T*>(in[input]) + at;
            DLAUNCH_INDEPENDENT
            for (std::size_t i = 0; i < size; ++i) sums[i] = combine<K, W>(sums[i], first(c[i]));
        }
        const T* z = static_cast<const T*>(in[inputs - 1]) + at;
        DLAUNCH_INDEPENDENT
        for (std::size_t i = 0; i < size; ++i) out[at + i] = last(combine<K, W>(sums[i], first(z[i])));
    }
}

template <Kind K, class T>
constexpr ReduceKernel choose() {
    if constexpr (exists<K, T>())
        return reduce<K, T>;
    else
        return nullptr;
}

template <class T, std::size_t... K>
constexpr void fill(ReduceKernel (&row)[9], std::index_sequence<K...>) {
    ((row[K] = choose<static_cast<Kind>(K), T>()), ...);
}

template <class... T>
constexpr KernelTable table() {
    static_assert(sizeof...(T) == kDTypes - 1);  // DType::bytes, the last one, has no kernels
    KernelTable made{};
    int row = 0;
    (fill<T>(made.at[row++], std::make_index_sequence<9>()), ...);
    return made;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable =
    table<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
          std::uint64_t, Float16, BFloat16, float, double, bool, Complex<float>, Complex<double>>();

}  // namespace dlaunch::worker::DLAUNCH_KERNELS
