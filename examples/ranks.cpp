/// Nodes, local ranks and ranks: ranks count through all nodes, r = node x workers + local rank. Start it on
/// several nodes; prints `node k: local rank l, rank r of n`.

#include <cstdlib>

#include "examples/print.hpp"

int main() {
    const auto variable = [](const char* name) { return std::getenv(name) ? std::getenv(name) : "?"; };
    print("node ", variable("GROUP_RANK"), ": local rank ", variable("LOCAL_RANK"), ", rank ", variable("RANK"), " of ",
          variable("WORLD_SIZE"));
}
