#pragma once
/// A machine of literals: 4 usable cores, no device, room for 32768 processes.

#include <utility>

#include "launcher/deps.hpp"

namespace dlaunch::launcher {

inline Deps small_machine(std::vector<std::pair<std::string, std::string>> environment = {}) {
    Deps machine;
    machine.host = {"node7", 4, std::move(environment)};
    machine.devices = [](agent::Vendor, const agent::VariableLookup&) { return std::vector<agent::Device>(); };
    machine.most_processes = [] { return std::int64_t{32768}; };
    machine.topology = [](const auto&) { return agent::Topology{{{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}}, {}}; };
    machine.address_of_interface = [](const std::string& name) {
        return name == "eth7" ? std::string("10.7.7.7") : "";
    };
    machine.fresh_id = [] { return std::string("fresh"); };
    machine.read_file = [](const std::string&) {
        return base::Result<std::string>(base::Error{"No such file or directory"});
    };
    machine.read_token = [](const std::string& path) {
        return base::Result<auth::TokenPtr>(base::Error{path + ": No such file or directory"});
    };
    machine.fresh_token = [] { return auth::token_of("a-fresh-random-token"); };
    machine.presence = [](const std::string&) { return Presence::unknown; };
    machine.console_is_terminal = [] { return false; };
    machine.has_input = [] { return false; };
    machine.linked_with = [](const ProgramFiles&) { return Linked{}; };
    machine.shell_script = [](const ProgramFiles&) { return std::string(); };
    machine.python_beside = [](const std::string&) { return std::string(); };
    machine.why_not_writable = [](const std::string&) { return std::string(); };
    return machine;
}

}  // namespace dlaunch::launcher
