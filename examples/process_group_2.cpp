/// The program itself sets the launcher's variables, for a world of one process and a group of it. Start it without a
/// launcher; prints `group [0]`.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>

#include "examples/free_port.hpp"
#include "examples/print.hpp"

int main() {
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", free_port().c_str(), 1);
    setenv("RANK", "0", 1);
    setenv("LOCAL_RANK", "0", 1);
    setenv("WORLD_SIZE", "1", 1);
    dlaunch::init_process_group();
    const dlaunch::ProcessGroup group = dlaunch::new_group({0});
    print("group ", list(group.ranks()));
}
