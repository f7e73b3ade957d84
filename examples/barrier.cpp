/// A barrier: no rank passes it before all ranks have arrived. Rank 0 arrives after some seconds. Prints `rank 0 -
/// seconds: k` for k = 1..4, `rank r: no-barrier` and, at least 4 s later, `rank r: barrier`.

#include <dlaunch/dlaunch.hpp>

#include <chrono>
#include <thread>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    for (int seconds = 1; rank == 0 && seconds <= 4; ++seconds) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        print("rank 0 - seconds: ", seconds);
    }
    print("rank ", rank, ": no-barrier");
    dlaunch::barrier();
    print("rank ", rank, ": barrier");
}
