/// Megatron's pair of functions around a tensor-parallel region. Forward: a rank takes its slice of the input.
/// Backward: the slices' gradients are gathered to the gradient of the input. x is 2 x 2n, counting from 0, and a
/// slice's gradient is ten times the slice. Prints `rank r: forward S` and `rank r: backward G`; fails if G is not 10
/// x. With one rank both functions are the identity.

#include <dlaunch/dlaunch.hpp>

#include "examples/matrix.hpp"
#include "examples/print.hpp"

namespace {

Matrix scatter_to_region(const Matrix& whole, std::size_t rank, std::size_t ranks) {
    if (ranks == 1) return whole;
    const std::size_t width = whole.columns / ranks;
    return whole.part(0, rank * width, whole.rows, width);
}

Matrix gather_from_region(const Matrix& slice, std::size_t ranks) {
    if (ranks == 1) return slice;
    std::vector<float> slices(slice.values.size() * ranks);
    dlaunch::all_gather(slice.values, slices);
    const Matrix stacked{slice.rows * ranks, slice.columns, slices};
    Matrix whole{slice.rows, slice.columns * ranks};
    for (std::size_t r = 0; r < ranks; ++r)
        whole.put(0, r * slice.columns, stacked.part(r * slice.rows, 0, slice.rows, slice.columns));
    return whole;
}

Matrix ten_times(Matrix matrix) {
    for (float& value : matrix.values) value *= 10;
    return matrix;
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const auto rank = static_cast<std::size_t>(dlaunch::get_rank()),
               ranks = static_cast<std::size_t>(dlaunch::get_world_size());
    const Matrix x = Matrix::counting(2, 2 * ranks, 0);
    const Matrix slice = scatter_to_region(x, rank, ranks);
    print("rank ", rank, ": forward ", rows(slice.values, slice.columns));
    const Matrix gradient = gather_from_region(ten_times(slice), ranks);
    print("rank ", rank, ": backward ", rows(gradient.values, gradient.columns));
    return gradient == ten_times(x) ? 0 : 1;
}
