#include "launcher/kubernetes.hpp"

#include <limits>
#include <string>

#include "launcher/cli/values.hpp"

namespace dlaunch::launcher {

void apply_completion_index(const agent::Host& host, Settings& settings) {
    agent::RendezvousPlan& rendezvous = settings.plan.rendezvous;
    const auto index =
        whole_number(host.variable("JOB_COMPLETION_INDEX").value_or(""), 0, std::numeric_limits<int>::max());
    if (!index || settings.standalone || rendezvous.max_nodes == 1 || rendezvous.node_rank) return;
    if (*index < rendezvous.max_nodes) rendezvous.node_rank = static_cast<int>(*index);
    if (rendezvous.order_key.empty()) rendezvous.order_key = std::to_string(*index);
}

}  // namespace dlaunch::launcher
