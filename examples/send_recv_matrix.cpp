/// Blocking and immediate messages of a 2 x 2 matrix. Prints its first row: `blocking: Rank r has data [d, d]` and
/// `immediate: Rank r has data [d, d]`, d = 1 on ranks 0 and 1.

#include <dlaunch/dlaunch.hpp>

#include <span>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix(4, rank == 0 ? 1.0F : 0.0F);
    if (rank == 0) dlaunch::send(matrix, 1);
    if (rank == 1) dlaunch::recv(matrix, 0);
    print("blocking: Rank ", rank, " has data ", list(std::span(matrix).first(2)));

    matrix.assign(4, rank == 0 ? 1.0F : 0.0F);
    dlaunch::Work work;
    if (rank == 0) work = dlaunch::isend(matrix, 1);
    if (rank == 1) work = dlaunch::irecv(matrix, 0);
    work.wait();
    print("immediate: Rank ", rank, " has data ", list(std::span(matrix).first(2)));
}
