#include "worker_lib/src/store/host.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include <dlaunch/error.hpp>
#include "rendezvous/base/fd.hpp"
#include "rendezvous/store/server.hpp"

namespace dlaunch::worker {
namespace {

/// The server looks no names up; "localhost" and this host's own name are usual ones here.
std::string numeric(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0)
        throw Error(ErrorCode::backend, "store at " + host + ": " + gai_strerror(error));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
    char text[NI_MAXHOST];
    if (getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
        throw Error(ErrorCode::backend, "store at " + host + ": no such address");
    return text;
}

}  // namespace

struct StoreHost::Impl {
    base::Loop loop;
    std::unique_ptr<store::Server> server;
    base::UniqueFd stop;
    std::thread thread;
};

StoreHost::StoreHost(const std::string& host, int port) : impl_(std::make_unique<Impl>()) {
    auto server = store::Server::listen(impl_->loop, numeric(host), port);
    if (!server) throw Error(ErrorCode::backend, "rank 0 cannot serve the store: " + server.error().text);
    impl_->server = std::move(*server);
    impl_->stop.reset(eventfd(0, EFD_CLOEXEC));
    if (!impl_->stop) throw Error(ErrorCode::backend, "rank 0 cannot serve the store: no descriptor is left");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    impl_->thread = std::thread([impl = impl_.get()] { impl->server->serve_until(impl->stop.get()); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StoreHost::~StoreHost() {
    eventfd_write(impl_->stop.get(), 1);
    impl_->thread.join();
}

}  // namespace dlaunch::worker
