/// A matrix product with the second matrix split by columns: each rank computes its column of the product, and an
/// all-gather puts the columns side by side. A is 2 x 2n, B is 2n x n, and both count on from 0. Prints `rank r: part
/// [[.], [.]]` and `rank r: product Y`; fails if Y is not the unsplit product.

#include <dlaunch/dlaunch.hpp>

#include "examples/matrix.hpp"
#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const auto rank = static_cast<std::size_t>(dlaunch::get_rank()),
               ranks = static_cast<std::size_t>(dlaunch::get_world_size());
    const Matrix a = Matrix::counting(2, 2 * ranks, 0),
                 b = Matrix::counting(2 * ranks, ranks, static_cast<float>(4 * ranks));
    const Matrix part = a * b.part(0, rank, b.rows, 1);
    print("rank ", rank, ": part ", rows(part.values, 1));

    std::vector<float> columns(2 * ranks);
    dlaunch::all_gather(part.values, columns);
    Matrix product{2, ranks};
    for (std::size_t r = 0; r < ranks; ++r) product.put(0, r, {2, 1, {columns[2 * r], columns[2 * r + 1]}});
    print("rank ", rank, ": product ", rows(product.values, ranks));
    return product == a * b ? 0 : 1;
}
