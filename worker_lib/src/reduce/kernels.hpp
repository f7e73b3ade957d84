#pragma once
/// The arithmetic of all reductions, on host memory.

#include <cstddef>

#include <dlaunch/reduce_op.hpp>
#include <dlaunch/types.hpp>

namespace dlaunch::worker {

/// out[i] = in[0][i] op in[1][i] op ..., always from left to right; avg divides by `ranks`, premul_sum multiplies by
/// `factor`. `out` may be one of the inputs; else they do not overlap.
using ReduceKernel = void (*)(void* out, const void* const* in, int inputs, std::size_t count, double factor,
                              int ranks);

struct KernelTable {
    ReduceKernel at[kDTypes][9];  ///< nullptr: the type does not have the operation
};

/// For this processor: the same source compiled for several instruction sets.
[[nodiscard]] const KernelTable& kernels();

[[nodiscard]] inline ReduceKernel kernel(DType type, ReduceOp op) {
    return kernels().at[static_cast<int>(type)][static_cast<int>(op.kind())];
}

}  // namespace dlaunch::worker
