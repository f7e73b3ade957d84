#include "launcher/cli/subcommands.hpp"

#include <algorithm>
#include <array>

#include "launcher/cli/help.hpp"

namespace dlaunch::launcher {
namespace {

constexpr Option kStoreBind{
    .name = "bind",
    .value = "ADDR[:PORT]",
    .fallback = "port 29500",
    .group = Group::general,
    .help = "address to listen on, as 10.0.0.1:29500 or [::1]:0; port 0 is a free one",
};

constexpr Option kCompress{
    .name = "compress",
    .group = Group::general,
    .help = "print one list for all names instead: node[01-03,7],login",
};

constexpr Option kFollow{
    .name = "follow",
    .letter = 'f',
    .group = Group::general,
    .help = "print also what the job writes from now on, until its end",
};

constexpr Option kRank{
    .name = "rank",
    .value = "R",
    .group = Group::general,
    .help = "print the output of this rank only, without prefixes",
};

constexpr Option kJson{.name = "json", .group = Group::general, .help = "print a line of JSON"};

/// dlaunch's options that apply to a coordinator without workers.
constexpr std::array<std::string_view, 15> kCoordinatorOptions{
    "nnodes",        "rdzv-backend", "rdzv-endpoint",   "rdzv-id",    "rdzv-conf",
    "local-addr",    "max-restarts", "restart-backoff", "crash-loop", "node-timeout",
    "node-cooldown", "scale-up",     "token-file",      "no-token",   "store"};

std::vector<const Option*> coordinator_options() {
    std::vector<const Option*> options;
    for (const std::string_view name : kCoordinatorOptions) options.push_back(find_option(name));
    options.push_back(find_option("help"));
    return options;
}

}  // namespace

std::span<const Subcommand> subcommands() {
    static const std::array<Subcommand, 8> kSubcommands{
        Subcommand{"coordinator", coordinator_options()},
        Subcommand{"hosts", {&kCompress, find_option("help")}},
        Subcommand{"logs", {&kFollow, &kRank, find_option("help")}},
        Subcommand{"ps", {find_option("help")}},
        Subcommand{"status", {&kJson, find_option("help")}},
        Subcommand{"stop", {find_option("help")}},
        Subcommand{"store", {&kStoreBind, find_option("help")}},
        Subcommand{"token", {find_option("help")}},
    };
    return kSubcommands;
}

std::string options_help(std::string_view name) {
    std::string text;
    for (const Option* option : std::ranges::find(subcommands(), name, &Subcommand::name)->options)
        text += option_help(*option);
    return text;
}

}  // namespace dlaunch::launcher
