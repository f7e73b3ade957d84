/// Blocking send and recv of one number from rank 0 to rank 1; other ranks do nothing. Prints `Rank r has data
/// d`: 1 on ranks 0 and 1.

#include <dlaunch/dlaunch.hpp>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    float data = 0;
    if (rank == 0) {
        data += 1;
        dlaunch::send(data, 1);
    } else if (rank == 1) {
        dlaunch::recv(data, 0);
    }
    print("Rank ", rank, " has data ", data);
}
