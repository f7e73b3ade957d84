#pragma once

#include <cstdint>

#include <dlaunch/standard.hpp>

namespace dlaunch {

/// A reduction of elements, one per rank. Elements are combined in rank order (backend auto on several hosts: within
/// each host first), so that results are bitwise equal on all ranks and in every run. 16-bit floats are accumulated in
/// float and rounded once.
///
/// band, bor and bxor require integers or bool; avg and premul_sum are not defined for bool, min and max not for
/// complex numbers. On bool, sum and max are "or", product and min are "and". On integers avg rounds towards zero, of
/// 8- and 16-bit integers it is taken of the exact sum, and the factor of premul_sum must be an integer.
class ReduceOp {
public:
    enum class Kind : std::uint8_t { sum, product, min, max, avg, band, bor, bxor, premul_sum };

    static constexpr ReduceOp sum() { return ReduceOp(Kind::sum); }
    static constexpr ReduceOp product() { return ReduceOp(Kind::product); }
    static constexpr ReduceOp min() { return ReduceOp(Kind::min); }
    static constexpr ReduceOp max() { return ReduceOp(Kind::max); }
    static constexpr ReduceOp avg() { return ReduceOp(Kind::avg); }
    static constexpr ReduceOp band() { return ReduceOp(Kind::band); }
    static constexpr ReduceOp bor() { return ReduceOp(Kind::bor); }
    static constexpr ReduceOp bxor() { return ReduceOp(Kind::bxor); }
    /// The sum of all elements multiplied by `factor`; each element is multiplied before the addition.
    static constexpr ReduceOp premul_sum(double factor) { return ReduceOp(Kind::premul_sum, factor); }

    [[nodiscard]] constexpr Kind kind() const { return kind_; }
    [[nodiscard]] constexpr double factor() const { return factor_; }
    [[nodiscard]] const char* name() const;

private:
    explicit constexpr ReduceOp(Kind kind, double factor = 1) : kind_(kind), factor_(factor) {}

    Kind kind_;
    double factor_;
};

}  // namespace dlaunch
