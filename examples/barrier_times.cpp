/// Rank r sleeps r seconds before a barrier, so that all ranks wait for the last one. Prints `Rank r sleeps r
/// seconds.` and `Rank r after barrier time delta: d`, d = n-1 for all.

#include <dlaunch/dlaunch.hpp>

#include <chrono>
#include <thread>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    dlaunch::barrier();
    const auto begin = std::chrono::steady_clock::now();
    print("Rank ", rank, " sleeps ", rank, " seconds.");
    std::this_thread::sleep_for(std::chrono::seconds(rank));
    dlaunch::barrier();
    const std::chrono::duration<double> delta = std::chrono::steady_clock::now() - begin;
    print("Rank ", rank, " after barrier time delta: ", delta.count());
}
