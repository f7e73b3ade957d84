#pragma once
/// The arithmetic of all reductions, on host memory.

#include <cstddef>

#include <dlaunch/reduce_op.hpp>
#include <dlaunch/types.hpp>

namespace dlaunch::worker {

/// out[i] = in[0][i] op in[1][i] op ..., from left to right; avg divides the result by `ranks`, premul_sum multiplies
/// each input by `factor`. `out` may be one of the inputs; otherwise the buffers must not overlap.
using ReduceKernel = void (*)(void* out, const void* const* in, int inputs, std::size_t count, double factor,
                              int ranks);

struct KernelTable {
    ReduceKernel at[kDTypes][9];  ///< nullptr: not defined for the type
};

/// The kernels for this processor; the same source is compiled for several instruction sets.
[[nodiscard]] const KernelTable& kernels();

[[nodiscard]] inline ReduceKernel kernel(ElementType type, ReduceOp op) {
    return type.is_number() ? kernels().at[static_cast<int>(type.kind())][static_cast<int>(op.kind())] : nullptr;
}

}  // namespace dlaunch::worker
