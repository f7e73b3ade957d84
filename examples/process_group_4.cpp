/// The same as process_group_3 with the launcher's environment, the usual way. Prints `group [0, 1, 2, 3] - rank: r`.

#include <dlaunch/dlaunch.hpp>

#include <numeric>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int ranks = dlaunch::get_world_size();
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    const dlaunch::ProcessGroup group = dlaunch::new_group(all);
    print("group ", list(group.ranks()), " - rank: ", group.rank());
}
