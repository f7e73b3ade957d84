/// Rank and world size do not suffice: a process group also needs the address of a store. Start it without a launcher;
/// prints on standard error that MASTER_ADDR is missing, and fails.

#include <dlaunch/dlaunch.hpp>

#include "examples/print.hpp"

int main() {
    return dlaunch::record([] {
        dlaunch::init_process_group({.rank = 0, .world_size = 1});
        return 0;
    });
}
