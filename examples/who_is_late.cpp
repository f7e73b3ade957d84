/// A barrier that names the ranks which do not come. The last rank comes to it after its time-out, and gets an error,
/// too. Rank 0 prints `late: r`.

#include <dlaunch/dlaunch.hpp>

#include <chrono>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    dlaunch::Store store = dlaunch::default_group().store();
    dlaunch::barrier();  // all ranks start from here at the same time
    if (rank == dlaunch::get_world_size() - 1) (void)store.get("the barrier has failed");
    try {
        dlaunch::monitored_barrier({.timeout = std::chrono::milliseconds(500)});
    } catch (const dlaunch::Error& error) {
        if (rank != 0) return 0;
        for (const int late : error.ranks()) print("late: ", late);
        store.set("the barrier has failed", "yes");
    }
}
