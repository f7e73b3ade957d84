/// Creates and joins processes one by one, like torch.multiprocessing.Process. Start it without a launcher;
/// prints `A0 B1 - rank: r` for each of 4 processes, or as many as its argument.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "examples/print.hpp"

namespace {

void hello(int rank, const std::vector<std::string>& args) { print(args[0], " ", args[1], " - rank: ", rank); }
const dlaunch::Spawnable kHello("hello", hello);

}  // namespace

int main(int argc, char** argv) {
    dlaunch::run_if_spawned();
    const int count = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<dlaunch::Process> processes;
    for (int rank = 0; rank < count; ++rank)
        processes.emplace_back(kHello, rank, dlaunch::SpawnOptions{.args = {"A0", "B1"}});
    for (dlaunch::Process& process : processes) process.join();
}
