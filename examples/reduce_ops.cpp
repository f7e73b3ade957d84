/// Every reduction, applied to [r+1, r+10]. Prints `rank r: sum v product v max v min v band v bor v bxor v avg v
/// premul_sum v`, in one line.

#include <dlaunch/dlaunch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "examples/print.hpp"

namespace {

using dlaunch::ReduceOp;

template <class T>
std::string reduced(int rank, ReduceOp op) {
    std::vector<T> data{static_cast<T>(rank + 1), static_cast<T>(rank + 10)};
    dlaunch::all_reduce(data, op);
    return std::string(" ") + op.name() + " " + list(data);
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::string line;
    for (const ReduceOp op : {ReduceOp::sum(), ReduceOp::product(), ReduceOp::max(), ReduceOp::min(), ReduceOp::band(),
                              ReduceOp::bor(), ReduceOp::bxor()})
        line += reduced<std::int64_t>(rank, op);
    line += reduced<double>(rank, ReduceOp::avg()) + reduced<double>(rank, ReduceOp::premul_sum(0.5));
    print("rank ", rank, ":", line);
}
