#include "launcher/start/starter_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>

namespace dlaunch::launcher {
namespace {

/// Options of `dlaunch agent`. Token and key go over standard input, which no other user of the host can read, where
/// the launcher passes it on. An agent of a version that knows no tokens refuses the option, and sends nothing
/// anywhere.
std::vector<std::string> agent_words(const StarterPlan& plan, const std::string& program, const std::string& name) {
    std::vector<std::string> words{program, "agent"};
    words.push_back(fmt::format("--front={}", fmt::join(plan.addresses, ",")));
    if (!name.empty()) words.push_back("--name=" + name);
    const bool has_input = passes_input(plan.kind);
    if (plan.token_line.empty())
        words.push_back("--key=" + (has_input ? "-" : plan.key));
    else
        words.push_back(has_input ? "--token=-" : "--token-file=" + plan.token_file);
    return words;
}

std::string input_line(const StarterPlan& plan) {
    return (plan.token_line.empty() ? plan.key : plan.token_line) + "\n";
}

/// Receives the program before the line of input, and removes the file before the job begins: a running program needs
/// none.
constexpr std::string_view kCopyScript =
    "umask 077; n={size}; v=$(getconf GNU_LIBC_VERSION 2>/dev/null); v=${{v#glibc }}; "
    "o=$(printf '%s\\n' {glibc} \"${{v:-0}}\" | sort -V | head -n 1); "
    "if [ \"$o\" != {glibc} ]; then echo \"dlaunch --copy: this host has glibc ${{v:-unknown}}, expected {glibc} or "
    "newer\" >&2; "
    "exit 126; fi; d=$(mktemp -d \"${{TMPDIR:-/tmp}}/dlaunch-copy.XXXXXX\") || exit 126; trap 'rm -rf \"$d\"' 0 1 2 "
    "15; "
    "head -c $n >\"$d/dlaunch\"; [ \"$(wc -c <\"$d/dlaunch\")\" -eq $n ] || exit 126; chmod 700 \"$d/dlaunch\"; "
    "exec 9<\"$d/dlaunch\"; rm -rf \"$d\"; trap - 0 1 2 15; exec /proc/self/fd/9 {rest}";

std::string remote_command(const StarterPlan& plan, const std::string& name) {
    const auto words = agent_words(plan, plan.remote_program, name);
    if (!plan.copied_program) return "exec " + shell_command(words);
    return "exec sh -c " +
           shell_quoted(fmt::format(fmt::runtime(kCopyScript), fmt::arg("size", plan.copied_program->size()),
                                    fmt::arg("glibc", plan.glibc),
                                    fmt::arg("rest", shell_command({words.begin() + 1, words.end()}))));
}

StarterCommand by_ssh(const StarterPlan& plan, const StarterHost& host) {
    StarterCommand command;
    command.words = {"ssh", "-o",           "BatchMode=yes", "-o", "RequestTTY=no", "-o", "ForwardAgent=no",
                     "-o",  "ForwardX11=no"};
    command.words.insert(command.words.end(), plan.extra.begin(), plan.extra.end());
    command.words.emplace_back("--");
    command.words.push_back(host.user.empty() ? host.name : host.user + "@" + host.name);
    command.words.push_back(remote_command(plan, host.name));
    command.program = plan.copied_program;
    command.input = input_line(plan);
    return command;
}

/// pdsh replaces %h, %n and %u in the command; %% is one percent sign.
std::string without_percent(std::string_view text) {
    std::string found;
    for (const char c : text) found.append(c == '%' ? 2 : 1, c);
    return found;
}

/// The module that -R names, also as -Rexec or in a group of options as -SRexec; empty: none. The last -R counts.
std::string_view named_module(const std::vector<std::string>& words) {
    std::string_view found;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (!word.starts_with('-') || word == "--") break;
        const std::size_t letter = word.find_first_of("tuwxlfgXMFR", 1);
        if (letter == word.npos) continue;
        const bool is_joined = letter + 1 < word.size();
        if (!is_joined && ++at == words.size()) break;
        if (word[letter] == 'R') found = is_joined ? word.substr(letter + 1) : words[at];
    }
    return found;
}

StarterCommand by_pdsh(const StarterPlan& plan, const StarterHost& host, const PdshVariables& variables) {
    StarterCommand command;
    command.words = {"pdsh", "-S", "-N"};
    if (!host.user.empty()) command.words.insert(command.words.end(), {"-l", host.user});
    command.words.insert(command.words.end(), plan.extra.begin(), plan.extra.end());
    command.words.insert(command.words.end(), {"-w", host.name});
    const std::string_view named = named_module(plan.extra);
    const bool execs = (named.empty() ? std::string_view(variables.module) : named) == "exec";
    const auto words = agent_words(plan, plan.remote_program, host.name);
    if (execs)
        for (const std::string& word : words) command.words.push_back(without_percent(word));
    else
        command.words.push_back(without_percent("exec " + shell_command(words)));
    if (variables.module.empty()) command.variables.emplace_back("PDSH_RCMD_TYPE=ssh");
    command.variables.push_back(fmt::format("PDSH_SSH_ARGS_APPEND=-oBatchMode=yes{}{}",
                                            variables.ssh_args.empty() ? "" : " ", variables.ssh_args));
    return command;
}

}  // namespace

bool passes_input(Starter kind) { return kind != Starter::pdsh && kind != Starter::manual; }

std::string shell_quoted(std::string_view word) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@+";
    if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
    std::string command;
    for (const std::string& word : words) command += (command.empty() ? "" : " ") + shell_quoted(word);
    return command;
}

StarterCommand starter_command(const StarterPlan& plan, const StarterHost& host, const PdshVariables& pdsh) {
    switch (plan.kind) {
        case Starter::ssh: return by_ssh(plan, host);
        case Starter::pdsh: return by_pdsh(plan, host, pdsh);
        case Starter::fork: return {.words = agent_words(plan, plan.own_program, host.name), .input = input_line(plan)};
        case Starter::manual: return {.words = agent_words(plan, plan.remote_program, host.name)};
        case Starter::srun: break;
    }
    return srun_command(plan, {host});
}

StarterCommand srun_command(const StarterPlan& plan, const std::vector<StarterHost>& hosts) {
    std::string names;
    for (const StarterHost& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    StarterCommand command;
    command.words = {"srun",
                     plan.srun_external ? "--external-launcher" : "--overlap",
                     fmt::format("--nodes={}", hosts.size()),
                     fmt::format("--ntasks={}", hosts.size()),
                     "--ntasks-per-node=1",
                     "--nodelist=" + names,
                     "--kill-on-bad-exit=0",
                     "--cpu-bind=none",
                     "--mpi=none",
                     "--export=ALL"};
    command.words.insert(command.words.end(), plan.extra.begin(), plan.extra.end());
    const auto words = agent_words(plan, plan.remote_program, "");
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.input = input_line(plan);
    command.end_signal = SIGTERM;  // by which srun gives back an allocation of its own, or withdraws the request
    return command;
}

}  // namespace dlaunch::launcher
