/// The same as process_group_2 for several processes, which spawn() starts. Start it without a launcher; prints `group
/// [0, 1, 2, 3] - rank: r` for each of 4 processes, or as many as its argument.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "examples/free_port.hpp"
#include "examples/print.hpp"

namespace {

void run(int rank, const std::vector<std::string>& args) {
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", args[1].c_str(), 1);
    setenv("RANK", std::to_string(rank).c_str(), 1);
    setenv("WORLD_SIZE", args[0].c_str(), 1);
    dlaunch::init_process_group();
    std::vector<int> all(static_cast<std::size_t>(dlaunch::get_world_size()));
    std::iota(all.begin(), all.end(), 0);
    const dlaunch::ProcessGroup group = dlaunch::new_group(all);
    print("group ", list(group.ranks()), " - rank: ", group.rank());
    dlaunch::barrier();  // rank 0 serves the store and must not exit before all ranks have joined
}
const dlaunch::Spawnable kRun("run", run);

}  // namespace

int main(int argc, char** argv) {
    dlaunch::run_if_spawned();
    const std::string ranks = argc > 1 ? argv[1] : "4";
    dlaunch::spawn(kRun, std::stoi(ranks), {.args = {ranks, free_port()}});
}
