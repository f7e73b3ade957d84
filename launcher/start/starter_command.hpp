#pragma once
/// The command that starts the agent of a host, for each launcher. No I/O.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/host_options.hpp"
#include "launcher/start/helper_process.hpp"

namespace dlaunch::launcher {

/// Parameters of all starters of a job.
struct StarterPlan {
    Starter kind = Starter::ssh;
    std::vector<std::string> extra;      ///< --launcher-args, after our options
    std::string own_program;             ///< path of this dlaunch
    std::string remote_program;          ///< path of dlaunch on the hosts
    std::vector<std::string> addresses;  ///< "10.0.0.1:41234", where the front end listens
    std::string key;                     ///< agents of an open job prove by it that they belong to the job
    std::string token_line;  ///< the job's token, as a line for the agents' standard input; empty: an open job
    std::string token_file;  ///< where agents without such an input read it
    std::string glibc;       ///< "2.36", which a copied program needs
    std::shared_ptr<const std::string> copied_program{};  ///< --copy: content of this dlaunch's file; else null
    bool srun_external = false;                           ///< SLURM's own launchers use --external-launcher here
};

/// Whether a launcher passes the front end's bytes to the standard input of the agents.
[[nodiscard]] bool passes_input(Starter kind);

using StarterCommand = HelperProcess::Command;

struct StarterHost {
    std::string name, user;
};

/// The front end's own, for pdsh.
struct PdshVariables {
    std::string module;    ///< PDSH_RCMD_TYPE; empty: ssh
    std::string ssh_args;  ///< PDSH_SSH_ARGS_APPEND
};

/// For ssh, pdsh and fork: one process per host. For manual only `words` counts.
[[nodiscard]] StarterCommand starter_command(const StarterPlan& plan, const StarterHost& host,
                                             const PdshVariables& pdsh = {});

/// One srun for all hosts, which learn their names from SLURM.
[[nodiscard]] StarterCommand srun_command(const StarterPlan& plan, const std::vector<StarterHost>& hosts);

/// One word for a POSIX shell.
[[nodiscard]] std::string shell_quoted(std::string_view word);
[[nodiscard]] std::string shell_command(const std::vector<std::string>& words);

}  // namespace dlaunch::launcher
