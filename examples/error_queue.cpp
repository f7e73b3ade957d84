/// Every process has an error queue: the first error ends the siblings and reaches the parent with its message. Start
/// it without a launcher; process 1 throws while its siblings sleep for a minute. Prints `process 1 failed: no data for
/// rank 1` and ends with 1 at once.

#include <dlaunch/dlaunch.hpp>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/print.hpp"

namespace {

void load(int rank, const std::vector<std::string>&) {
    if (rank == 1) throw std::runtime_error("no data for rank 1");
    std::this_thread::sleep_for(std::chrono::minutes(1));
}
const dlaunch::Spawnable kLoad("load", load);

}  // namespace

int main(int argc, char** argv) {
    dlaunch::run_if_spawned();
    try {
        dlaunch::spawn(kLoad, argc > 1 ? std::atoi(argv[1]) : 4);
    } catch (const dlaunch::ProcessError& error) {
        print("process ", error.index(), " failed: ", error.message());
        return 1;
    }
}
