/// Why a layer is split by columns before an activation: each rank applies the activation to its own column of A B
/// without communication; only the following sum needs all ranks. The activation is relu(y - mean(y)) of a column y.
/// Prints `rank r: hidden
/// [[.], [.]]` and `rank r: output [[.], [.]]`; fails if the output is not the unsplit one.

#include <dlaunch/dlaunch.hpp>

#include <algorithm>

#include "examples/matrix.hpp"
#include "examples/print.hpp"

namespace {

Matrix activation(Matrix column) {
    const float mean = (column.at(0, 0) + column.at(1, 0)) / 2;
    for (float& value : column.values) value = std::max(value - mean, 0.0F);
    return column;
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const auto rank = static_cast<std::size_t>(dlaunch::get_rank()),
               ranks = static_cast<std::size_t>(dlaunch::get_world_size());
    const Matrix a = Matrix::counting(2, 2 * ranks, 0),
                 b = Matrix::counting(2 * ranks, ranks, static_cast<float>(4 * ranks));
    const Matrix hidden = activation(a * b.part(0, rank, b.rows, 1));
    print("rank ", rank, ": hidden ", rows(hidden.values, 1));

    Matrix output = hidden, whole{2, 1};
    dlaunch::all_reduce(output.values);
    print("rank ", rank, ": output ", rows(output.values, 1));
    for (std::size_t r = 0; r < ranks; ++r) {
        const Matrix column = activation(a * b.part(0, r, b.rows, 1));
        for (std::size_t i = 0; i < 2; ++i) whole.at(i, 0) += column.at(i, 0);
    }
    return output == whole ? 0 : 1;
}
