#pragma once
/// The launcher's access to the machine, as functions that tests replace by literals.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/binding/binding.hpp"
#include "agent/plan.hpp"
#include "launcher/mpi/linked.hpp"
#include "rendezvous/auth/token.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A node that a front end started (start/): its name and place come from the list of hosts.
struct StartedNode {
    std::string name;
    std::string order_key;
    bool prints = false;             ///< the messages that all nodes of the job have
    bool relays_output = false;      ///< agent::LogPlan::relayed
    int front_terminals = 0;         ///< agent::LogPlan::front_terminals
    int front_notices = -1;          ///< agent::Plan::front_notices
    auth::TokenPtr token{};          ///< null: an open job
    std::string temporary_folder{};  ///< the node's own $TMPDIR, while workers get the front end's; empty: unset
};

/// Of a file. Unknown: it may lie on a server, which could keep the caller waiting, or may not be read.
enum class Presence : unsigned char { there, missing, unknown };

/// Functions are called only when an option needs them, to start quickly.
struct Deps {
    agent::Host host;
    std::optional<StartedNode> node;  ///< none: the user started this dlaunch
    std::string_view token_variable;  ///< the text of DLAUNCH_TOKEN, which `host` does not have; empty: unset

    /// A vendor's devices that the workers see.
    std::function<std::vector<agent::Device>(agent::Vendor, const agent::VariableLookup&)> devices;
    std::function<std::int64_t()> most_processes;  ///< kernel.pid_max
    std::function<base::Result<agent::Topology>(const agent::VariableLookup&)> topology;
    /// Lets this process and the workers use these cores, and returns the number of usable ones.
    std::function<int(const std::vector<int>& cores)> use_cores;
    std::function<std::string()> fresh_id;  ///< a new random job id
    std::function<base::Result<std::string>(const std::string& path)> read_file;
    std::function<base::Result<auth::TokenPtr>(const std::string& path)> read_token;
    std::function<base::Result<auth::TokenPtr>()> fresh_token;  ///< random; an error where TLS is impossible
    /// The absolute path of `python` beside the program of this called name, if that folder is the bin of a virtual or
    /// conda environment; else empty.
    std::function<std::string(const std::string& called)> python_beside;
    std::function<std::string(const std::string& path)> why_not_writable;  ///< empty if the file can be written

    /// The MPI library that a program is linked with.
    std::function<Linked(const ProgramFiles&)> linked_with;
    /// The beginning of a program's text, if that is a shell script on a local disk; else empty.
    std::function<std::string(const ProgramFiles&)> shell_script;

    std::function<Presence(const std::string& path)> presence;
    std::function<bool()> console_is_terminal;  ///< standard output and standard error are one terminal
    /// Standard input has data: a file of which nothing was read, or a pipe in which some have arrived.
    std::function<bool()> has_input;

    /// The first address of a network interface, IPv4 before IPv6; empty: none has this name and an address.
    std::function<std::string(const std::string& name)> address_of_interface;

    std::function<std::string()> current_folder;                 ///< as $PWD names it, if that is this folder
    std::function<bool(const std::string& path)> is_no_program;  ///< the file exists, but cannot be executed
};

[[nodiscard]] Deps deps_of_this_process();

}  // namespace dlaunch::launcher
