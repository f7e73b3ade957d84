/// The common pattern without a launcher: each process joins the group by address, port, rank and world size, runs a
/// function, and exits. Start it without a launcher; prints `[r] say hi!` for each of 4 processes,
/// or as many as its argument.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "examples/free_port.hpp"
#include "examples/print.hpp"

namespace {

void run(int rank, int) { print("[", rank, "] say hi!"); }

void join_and_run(int rank, const std::vector<std::string>& args) {
    const int ranks = std::atoi(args[0].c_str());
    dlaunch::init_process_group({.init_method = "tcp://127.0.0.1:" + args[1], .rank = rank, .world_size = ranks});
    run(rank, ranks);
    dlaunch::barrier();  // rank 0 serves the store and must not exit before all ranks have joined
    dlaunch::destroy_process_group();
}
const dlaunch::Spawnable kRun("run", join_and_run);

}  // namespace

int main(int argc, char** argv) {
    dlaunch::run_if_spawned();
    const std::string ranks = argc > 1 ? argv[1] : "4";
    dlaunch::spawn(kRun, std::stoi(ranks), {.args = {ranks, free_port()}});
}
