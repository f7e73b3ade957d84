/// all_to_all: rank r sends 10r + j to rank j, for all r and j. Prints `rank r: [[r], [10+r], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <numeric>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> out(static_cast<std::size_t>(ranks)), in(out.size());
    std::iota(out.begin(), out.end(), static_cast<float>(10 * rank));
    dlaunch::all_to_all(out, in);
    print("rank ", rank, ": ", rows(in, 1));
}
