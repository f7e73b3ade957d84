/// The same as multi_process_1 in one call: spawn() starts and joins processes with ranks. Start it without a
/// launcher; prints `A0 B1 - rank: r` for each of 4 processes, or as many as its argument.

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
    dlaunch::spawn(kHello, argc > 1 ? std::atoi(argv[1]) : 4, {.args = {"A0", "B1"}});
}
