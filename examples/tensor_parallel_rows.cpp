/// A matrix product with the second matrix split by rows and the first one by columns: each rank computes a matrix of
/// the full size, and an all-reduce adds these to the product. A is 2 x 2n, B is 2n x n, and both count on from
/// 0. Prints `rank r: part P` and `rank r: product Y`; fails if Y is not the unsplit product.

#include <dlaunch/dlaunch.hpp>

#include "examples/matrix.hpp"
#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const auto rank = static_cast<std::size_t>(dlaunch::get_rank()),
               ranks = static_cast<std::size_t>(dlaunch::get_world_size());
    const Matrix a = Matrix::counting(2, 2 * ranks, 0),
                 b = Matrix::counting(2 * ranks, ranks, static_cast<float>(4 * ranks));
    Matrix product = a.part(0, 2 * rank, 2, 2) * b.part(2 * rank, 0, 2, ranks);
    print("rank ", rank, ": part ", rows(product.values, ranks));

    dlaunch::all_reduce(product.values);
    print("rank ", rank, ": product ", rows(product.values, ranks));
    return product == a * b ? 0 : 1;
}
