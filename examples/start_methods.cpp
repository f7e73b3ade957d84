/// The start methods differ in the inherited state: a spawned child inherits nothing, a forked child everything. A
/// global is 0 at the start and 42 when the processes are created. Start it without a launcher; prints `spawn - rank: r
/// sees 0` and `fork
/// - rank: r sees 42` for 2 processes each, or as many as its argument.

#include <dlaunch/dlaunch.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "examples/print.hpp"

namespace {

int answer = 0;

void look(int rank, const std::vector<std::string>& args) { print(args[0], " - rank: ", rank, " sees ", answer); }
const dlaunch::Spawnable kLook("look", look);

}  // namespace

int main(int argc, char** argv) {
    dlaunch::run_if_spawned();
    const int count = argc > 1 ? std::atoi(argv[1]) : 2;
    answer = 42;
    dlaunch::spawn(kLook, count, {.args = {"spawn"}, .start_method = dlaunch::StartMethod::spawn});
    dlaunch::spawn(kLook, count, {.args = {"fork"}, .start_method = dlaunch::StartMethod::fork});
}
