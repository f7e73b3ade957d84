// A round's store in a process, and a node's relay to it in another, as with `dlaunch --store=relay`:
//
//     store_relay PORT [TOKEN]      serves clients at 127.0.0.1:PORT, with a token inside TLS, until it is killed

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/relay/relay.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace {

using namespace dlaunch;

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kKey = "a round";

template <class T>
T needed(base::Result<T> result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "store_relay: %s\n", result.error().text.c_str());
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    auth::TlsContextPtr tls;
    if (argc > 2) tls = needed(auth::TlsContext::of(auth::Token(argv[2])));
    auto listener = needed(store::open_listener(kLoopback, 0));
    const pid_t relay = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != relay) return 1;
        const auto server =
            needed(store::ThreadedServer::adopt(std::move(listener.socket), {.trunk_key = kKey, .tls = tls}));
        for (;;) pause();
    }
    base::Loop loop;
    auto workers = needed(store::open_listener(kLoopback, std::stoi(argv[1])));
    const auto serving = needed(store::Relay::serve(
        loop, std::move(workers.socket),
        {.host = kLoopback, .port = listener.port, .key = kKey, .tls = tls, .patience = std::chrono::seconds(5)}));
    loop.run();
}
