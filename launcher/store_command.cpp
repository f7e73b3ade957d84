#include "launcher/store_command.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "launcher/cli/subcommands.hpp"
#include "launcher/print_error.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/ports.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/store/server/server.hpp"

namespace dlaunch::launcher {
namespace {

constexpr const char* kHelp =
    R"(Usage: dlaunch store --bind ADDR[:PORT]

Serves a store for clients of torch.distributed's TCPStore and of libdlaunch, until SIGTERM or
SIGINT. Prints one line with the address and port.

{}More: man dlaunch-store
)";

/// One write, so that lines of several processes do not mix.
struct Options {
    std::string bind;
    bool help = false;
};

base::Result<Options> read_options(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "-h" || word == "--help") {
            options.help = true;
        } else if (word == "--bind") {
            if (++i == arguments.size()) return base::Error{"store --bind: nothing after it, expected ADDR:PORT"};
            options.bind = arguments[i];
        } else if (word.starts_with("--bind=")) {
            options.bind = word.substr(std::strlen("--bind="));
        } else {
            return base::Error{fmt::format("store: {}, expected --bind ADDR:PORT", word)};
        }
    }
    if (options.bind.empty() && !options.help) return base::Error{"store: no address, expected --bind ADDR:PORT"};
    return options;
}

/// Every client takes a descriptor.
void raise_descriptor_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/// A descriptor that is readable when SIGTERM or SIGINT is pending.
base::UniqueFd ending_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return base::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

int run_store(const std::vector<std::string>& arguments) {
    const auto options = read_options(arguments);
    if (!options) return print_error(options.error());
    if (options->help)
        return std::fputs(fmt::format(kHelp, options_help("store")).c_str(), stdout) < 0 || std::fflush(stdout) != 0;
    const auto endpoints = rendezvous::parse_endpoints(options->bind, base::kStorePort);
    if (!endpoints) return print_error(endpoints.error().within("store --bind"));
    if (endpoints->places.size() != 1)
        return print_error({fmt::format("store --bind {}: expected one address", options->bind)});

    raise_descriptor_limit();
    const base::UniqueFd signals = ending_signals();
    base::Loop loop;
    const auto& [host, port] = endpoints->places.front();
    store::ServerHooks hooks;
    hooks.warn = [](const std::string& text) { print_error({text}); };
    const auto server = store::Server::listen(loop, host, port, std::move(hooks));
    if (!server) return print_error(server.error().within("store --bind"));
    const std::string line = fmt::format("dlaunch: the store listens on {}\n", (*server)->endpoint());
    [[maybe_unused]] const auto ignored = write(STDOUT_FILENO, line.data(), line.size());
    (*server)->serve_until(signals.get());
    return 0;
}

}  // namespace dlaunch::launcher
