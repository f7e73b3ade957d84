/// The MPI tutorial's first message. Prints, on rank 1, `Process 1 received number 43523 from process 0`.

#include <dlaunch/dlaunch.hpp>

#include <cstdint>
#include <cstdio>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    if (dlaunch::get_world_size() < 2) {
        std::fputs("send_number needs two processes\n", stderr);
        return 1;
    }
    std::int32_t number = 43523;
    if (rank == 0) dlaunch::send(number, 1);
    if (rank != 1) return 0;
    number = 0;
    dlaunch::recv(number, 0);
    print("Process 1 received number ", number, " from process 0");
}
