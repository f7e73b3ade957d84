#pragma once
/// One step of a reduction: by a kernel, or by the program's function.

#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker {

/// out[i] = in[0][i] op in[1][i] op ..., from left to right, for `count` elements of the call's type. avg divides by
/// `ranks`. `out` may be one of the inputs; otherwise the buffers must not overlap.
void combine(const Call& call, void* out, const void* const* in, int inputs, std::size_t count, int ranks);

}  // namespace dlaunch::worker
