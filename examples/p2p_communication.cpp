/// A blocking message of a 2 x 2 matrix. Prints, on rank 0, `rank 0 sent: [[x, x], [x, x]]`; on rank 1 `rank 1
/// before:` zeros and `rank 1 after:` the same numbers. More than two ranks are an error.

#include <dlaunch/dlaunch.hpp>

#include <cstdio>
#include <vector>

#include "examples/print.hpp"
#include "examples/random_numbers.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    if (rank > 1) {
        std::fputs("wrong rank\n", stderr);
        return 1;
    }
    std::vector<float> matrix(4);
    if (rank == 0) {
        matrix = random_numbers();
        dlaunch::send(matrix, 1);
        print("rank 0 sent: ", rows(matrix, 2));
    } else {
        print("rank 1 before: ", rows(matrix, 2));
        dlaunch::recv(matrix, 0);
        print("rank 1 after: ", rows(matrix, 2));
    }
}
