#pragma once

#include <cstdint>

namespace dlaunch {

/// How elements of the ranks become one. They are taken in the ranks' order (by auto, over several hosts, those of each
/// host first): bitwise the same on all ranks and from run to run. 16-bit floats are added up as float, rounded once.
///
/// Not every type has every operation: band, bor and bxor need integers or bool, avg and premul_sum anything but bool.
/// On bool, sum and max are "or", product and min "and". On integers avg is rounded towards zero, and the factor of
/// premul_sum must be a whole number.
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
    /// The sum of the elements, each multiplied by `factor` first.
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
