// dlaunch: the guard forks first, so that it stays small and starts early; everything else runs in its child.

#include <cstdio>
#include <string>
#include <string_view>

#include "agent/agent.hpp"
#include "agent/process/guard.hpp"
#include "launcher/backends_command.hpp"
#include "launcher/check_command.hpp"
#include "launcher/command_line.hpp"
#include "launcher/coordinator_command.hpp"
#include "launcher/deps.hpp"
#include "launcher/hosts_command.hpp"
#include "launcher/print_error.hpp"
#include "launcher/store_command.hpp"
#include "rendezvous/coordinate/process.hpp"

namespace {

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
    std::perror("dlaunch: stdout");
    return 1;
}

int run_silent_coordinator(const dlaunch::base::CoordinatorSeat& seat) {
    return dlaunch::rendezvous::run_coordinator_process(seat);
}

}  // namespace

int main(int argc, char** argv) {
    using dlaunch::launcher::Invocation;
    dlaunch::agent::keep_standard_files_open();
    // Commands that start no process need no guard.
    const bool has_commands = argc > 1 && !dlaunch::launcher::is_called_torchrun(argv[0]);
    const std::string_view command = has_commands ? argv[1] : "";
    if (command == "store") return dlaunch::launcher::run_store({argv + 2, argv + argc});
    if (command == "check") return dlaunch::launcher::run_check({argv + 2, argv + argc});
    if (command == "hosts") return dlaunch::launcher::run_hosts({argv + 2, argv + argc});
    if (command == "backends") return dlaunch::launcher::run_backends({argv + 2, argv + argc});
    const bool coordinates = command == "coordinator";
    auto link = dlaunch::agent::fork_from_guard(coordinates ? dlaunch::launcher::run_reporting_coordinator
                                                            : run_silent_coordinator);
    if (coordinates) return dlaunch::launcher::run_coordinator({argv + 2, argv + argc}, link);
    auto invocation =
        dlaunch::launcher::read_command_line({argv, argv + argc}, dlaunch::launcher::deps_of_this_process());
    if (!invocation) return dlaunch::launcher::print_error(invocation.error());
    if (invocation->plan.verbosity >= 0)
        for (const auto& warning : invocation->warnings) dlaunch::launcher::print_error({warning});
    if (invocation->kind == Invocation::Kind::print) return print(invocation->output);
    return dlaunch::agent::run_agent(invocation->plan, std::move(link));
}
