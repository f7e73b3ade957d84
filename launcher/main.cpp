// dlaunch: the guard forks first, so that it stays small and starts early; everything else runs in its child.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "agent/agent.hpp"
#include "agent/last_record.hpp"
#include "agent/membership/cause.hpp"
#include "agent/mpi/pmix_server.hpp"
#include "agent/process/guard.hpp"
#include "agent/waiting_task.hpp"
#include "launcher/backends_command.hpp"
#include "launcher/check_command.hpp"
#include "launcher/command_line.hpp"
#include "launcher/coordinator_command.hpp"
#include "launcher/deps.hpp"
#include "launcher/hosts_command.hpp"
#include "launcher/jobs/jobs_command.hpp"
#include "launcher/print_error.hpp"
#include "launcher/slurm/defaults.hpp"
#include "launcher/start/front_end.hpp"
#include "launcher/start/node_command.hpp"
#include "launcher/store_command.hpp"
#include "launcher/token_command.hpp"
#include "launcher/token_variable.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/coordinate/process.hpp"

namespace {

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
    std::perror("dlaunch: stdout");
    return 1;
}

int run_silent_coordinator(const dlaunch::base::CoordinatorSeat& seat) {
    return dlaunch::rendezvous::run_coordinator_process(seat, dlaunch::agent::judge);
}

/// The caller becomes the guard, which stays small: nothing is allocated before the fork. `node`: of a front end.
int run_job(std::span<char* const> argv, const std::optional<dlaunch::launcher::StartedNode>& node) {
    using dlaunch::launcher::Invocation;
    auto link = dlaunch::agent::fork_from_guard(run_silent_coordinator, node ? std::string_view(node->name) : "",
                                                node ? nullptr : dlaunch::agent::write_last_record);
    auto deps = dlaunch::launcher::deps_of_this_process();
    deps.node = node;
    auto invocation = dlaunch::launcher::read_command_line({argv.begin(), argv.end()}, deps);
    if (!invocation && !node && dlaunch::launcher::is_later_task(deps.host)) return invocation.error().status;
    if (!invocation)
        return dlaunch::launcher::print_error(node ? invocation.error().within("host " + node->name)
                                                   : invocation.error());
    const bool starts_nodes = invocation->kind == Invocation::Kind::start_nodes;
    if ((starts_nodes ? invocation->front.job : invocation->plan).verbosity >= 0)
        for (const auto& warning : invocation->warnings) dlaunch::launcher::print_error({warning});
    if (invocation->kind == Invocation::Kind::print) return std::max(print(invocation->output), invocation->status);
    if (starts_nodes) return dlaunch::launcher::run_front_end(invocation->front, std::move(link));
    if (invocation->plan.tasks.index > 0)
        return dlaunch::agent::run_waiting_task(invocation->plan.tasks, std::move(link));
    if (auto shared = dlaunch::agent::share_status(invocation->plan.tasks, link); !shared)
        return dlaunch::launcher::print_error(shared.error());
    return dlaunch::agent::run_agent(invocation->plan, std::move(link));
}

}  // namespace

int main(int argc, char** argv) {
    dlaunch::agent::keep_standard_files_open();
    dlaunch::launcher::take_token_variable();
    // Commands that start no process need no guard.
    const bool has_commands = argc > 1 && !dlaunch::launcher::is_called_torchrun(argv[0]);
    const std::string_view command = has_commands ? argv[1] : "";
    if (command == "store") return dlaunch::launcher::run_store({argv + 2, argv + argc});
    if (command == "token") return dlaunch::launcher::run_token({argv + 2, argv + argc});
    if (command == "check") return dlaunch::launcher::run_check({argv + 2, argv + argc});
    if (command == "hosts") return dlaunch::launcher::run_hosts({argv + 2, argv + argc});
    if (dlaunch::launcher::is_jobs_command(command))
        return dlaunch::launcher::run_jobs_command(command, {argv + 2, argv + argc},
                                                   dlaunch::launcher::places_in(dlaunch::base::environment()));
    if (command == "backends") return dlaunch::launcher::run_backends({argv + 2, argv + argc});
    if (command == dlaunch::agent::kPmixServerCommand) return dlaunch::agent::run_pmix_server();
    if (command == "agent") return dlaunch::launcher::run_node_agent({argv + 2, argv + argc}, run_job);
    if (command != "coordinator") return run_job({argv, static_cast<std::size_t>(argc)}, std::nullopt);
    auto link = dlaunch::agent::fork_from_guard(dlaunch::launcher::run_reporting_coordinator);
    return dlaunch::launcher::run_coordinator({argv + 2, argv + argc}, link);
}
