#include "worker_lib/src/bootstrap/bootstrap.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include <dlaunch/error.hpp>
#include "rendezvous/base/listener.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"

namespace dlaunch::worker {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, "init_process_group: " + text);
}

/// Number of worlds that this process has tried to join at `place`. All ranks try equally often, so the number
/// separates the keys of consecutive worlds in one store.
int count_joins(const std::string& place) {
    static std::mutex mutex;
    static std::map<std::string, int> joins;
    const std::lock_guard lock(mutex);
    return ++joins[place];
}

bool agent_serves(const std::string& host, int port) {
    return variable("TORCHELASTIC_USE_AGENT_STORE") == "True" && variable("MASTER_ADDR") == host &&
           variable("MASTER_PORT") == std::to_string(port);
}

/// Starts the store's server in this process.
std::shared_ptr<store::ThreadedServer> serve_store(const std::string& host, int port) {
    const auto refused = [](const base::Error& error) {
        return Error(ErrorCode::backend, "rank 0 cannot serve the store: " + error.text);
    };
    auto listener = store::open_listener(host, port);
    if (!listener) throw refused(listener.error());
    const auto warn = [](const std::string& text) { fmt::print(stderr, "dlaunch: {}\n", text); };
    auto server = store::ThreadedServer::adopt(std::move(listener->socket), {.warn = warn});
    if (!server) throw refused(server.error());
    return std::move(*server);
}

}  // namespace

InitMethod parse_init_method(const std::string& text) {
    const auto starts = [&](std::string_view scheme) { return text.starts_with(scheme); };
    if (text == "env://" || text.empty()) return {};
    if (starts("file://") && text.size() > 7) return {InitMethod::Kind::file, text.substr(7)};
    if (starts("tcp://")) {
        const std::size_t colon = text.rfind(':');
        InitMethod method{InitMethod::Kind::tcp, text.substr(6, std::max<std::size_t>(colon, 6) - 6)};
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, method.port);
        const bool bracketed = method.place.starts_with('[') && method.place.ends_with(']');
        if (bracketed) method.place = method.place.substr(1, method.place.size() - 2);
        if (error == std::errc{} && stop == end && !method.place.empty() && method.port > 0 && method.port < 65536)
            return method;
    }
    refuse(fmt::format("init_method is '{}', expected env://, tcp://HOST:PORT or file:///PATH", text));
}

Bootstrap bootstrap(const InitOptions& options, Time deadline) {
    InitMethod method = parse_init_method(options.init_method);
    Bootstrap made;
    made.rank = options.rank ? *options.rank : needed_integer_variable("RANK");
    made.world_size = options.world_size ? *options.world_size : needed_integer_variable("WORLD_SIZE");
    if (made.world_size < 1 || made.rank < 0 || made.rank >= made.world_size)
        refuse(fmt::format("rank {} of a world of {} is impossible", made.rank, made.world_size));
    made.in_job = method.kind == InitMethod::Kind::env && variable("RANK") == std::to_string(made.rank) &&
                  variable("WORLD_SIZE") == std::to_string(made.world_size);
    if (method.kind == InitMethod::Kind::env) {
        method.place = needed_variable("MASTER_ADDR");
        method.port = needed_integer_variable("MASTER_PORT");
        if (method.port < 1 || method.port > 65535)
            refuse(fmt::format("MASTER_PORT is {}, expected a port from 1 to 65535", method.port));
    }
    const bool by_file = method.kind == InitMethod::Kind::file;
    const std::string place = by_file ? method.place : fmt::format("{}:{}", method.place, method.port);
    // Counted before the store can fail, so that ranks which try again after different errors find each other.
    const int joins = count_joins(place + " " + options.group_name);
    if (by_file) {
        made.store = StoreSource::file(method.place);
    } else {
        if (made.rank == 0 && !agent_serves(method.place, method.port)) {
            static std::mutex mutex;
            static std::map<std::string, std::weak_ptr<store::ThreadedServer>>
                hosts;  // by place; a second world at the same place shares the server
            const std::lock_guard lock(mutex);
            made.host = hosts[place].lock();
            if (!made.host) hosts[place] = made.host = serve_store(method.place, method.port);
        }
        made.store = StoreSource::tcp(method.place, method.port, deadline);
    }
    const std::string attempt = variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
    made.prefix = fmt::format("dlaunch/{}/{}#{}", attempt, options.group_name, joins);
    return made;
}

}  // namespace dlaunch::worker
