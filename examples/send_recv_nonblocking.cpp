/// The same as send_recv_blocking with isend and irecv; neither side may use the data before wait(). Prints `Rank 0
/// started sending`, `Rank 1 started receiving` and `Rank r has data d`.

#include <dlaunch/dlaunch.hpp>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    float data = 0;
    dlaunch::Work work;
    if (rank == 0) {
        data += 1;
        work = dlaunch::isend(data, 1);
        print("Rank 0 started sending");
    } else if (rank == 1) {
        work = dlaunch::irecv(data, 0);
        print("Rank 1 started receiving");
    }
    work.wait();
    print("Rank ", rank, " has data ", data);
}
