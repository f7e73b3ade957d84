/// A program that is stopped writes where it is, and goes on from there when it is started again:
///
///     dlaunch --nproc-per-node=2 checkpoint_on_stop FILE [STEPS]
///
/// Rank 0 prints `step n`: the step with which it begins, and the one it has reached, after SIGTERM or all STEPS.

#include <dlaunch/dlaunch.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "examples/print.hpp"

namespace {

/// Under a temporary name first, so that a reader finds a whole file, old or new.
void write_step(const std::string& path, int step) {
    const std::string temporary = path + ".new";
    std::ofstream(temporary) << step << '\n';
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throw std::runtime_error("cannot write " + path);
}

int read_step(const std::string& path) {
    int step = 0;
    std::ifstream(path) >> step;
    return step;  // 0: there is no file
}

int run(int argc, char** argv) {
    if (argc < 2) throw std::invalid_argument("which FILE?");
    const std::string path = argv[1];
    const int last = argc > 2 ? std::atoi(argv[2]) : 100000;
    dlaunch::on_stop([] {});  // the signal sets is_stopping(), and ends no process
    dlaunch::init_process_group();
    const bool writes = dlaunch::get_rank() == 0;
    int step = writes ? read_step(path) : 0;
    dlaunch::broadcast(step);
    if (writes) print("step ", step);
    for (; step < last; ++step) {
        // The signal reaches the ranks at different times; the reduction makes them stop at the same step.
        bool stops = dlaunch::is_stopping();
        dlaunch::all_reduce(stops, dlaunch::ReduceOp::max());
        if (stops) {
            if (writes) write_step(path, step);
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the work of a step
    }
    if (writes) print("step ", step);
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return dlaunch::record(argc, argv, run); }
