// The lower bound for any coordinator: receives a beat of each connection every second, answers it with as many bytes
// as a coordinator does, and keeps nothing about it.
//
//   beat_floor CONNECTIONS SECONDS
//
// Four child processes own the other ends. Prints the share of a core that the answering process took.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <utility>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kInterval = std::chrono::seconds{1};  // as agents beat with the default --node-timeout
constexpr std::size_t kBeat = 34, kAnswer = 38;      // bytes
constexpr int kClients = 4;

void need(bool done, const char* what) {
    if (done) return;
    std::perror(what);
    std::exit(1);
}

void watch(int set, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    need(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

void receive_all(int fd) {
    std::array<char, 16'384> bytes;
    while (recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size())) {}
}

int connect_from(in_addr_t source, const sockaddr_in& server) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    need(fd >= 0, "socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = source;
    need(bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0, "bind");
    need(connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0, "connect");
    return fd;
}

/// Beats on `count` connections, spread over the interval, until the parent kills this process.
[[noreturn]] void beat(int client, int count, const sockaddr_in& server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const in_addr_t source = htonl(INADDR_LOOPBACK + 1 + static_cast<in_addr_t>(client));
    const int set = epoll_create1(EPOLL_CLOEXEC);
    std::deque<std::pair<Clock::time_point, int>> due;  // the next one first, as every interval is the same
    for (int i = 0; i < count; ++i) {
        const int fd = connect_from(source, server);
        watch(set, fd, EPOLLIN | EPOLLET);
        due.emplace_back(Clock::now() + kInterval * i / count, fd);
    }
    std::array<char, kBeat> bytes{};
    std::array<epoll_event, 256> events;
    while (true) {
        for (const auto now = Clock::now(); !due.empty() && due.front().first <= now; due.pop_front()) {
            need(send(due.front().second, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "send");
            due.emplace_back(due.front().first + kInterval, due.front().second);
        }
        const int ready = epoll_wait(set, events.data(), events.size(), 1);
        for (int i = 0; i < ready; ++i) receive_all(events[static_cast<std::size_t>(i)].data.fd);
    }
}

/// Answers until `until`.
void answer(int set, Clock::time_point until) {
    std::array<char, kAnswer> bytes{};
    std::array<epoll_event, 128> events;
    while (Clock::now() < until) {
        const int ready = epoll_wait(set, events.data(), events.size(), 100);
        for (int i = 0; i < ready; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            receive_all(fd);
            send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        }
    }
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: beat_floor CONNECTIONS SECONDS\n");
        return 2;
    }
    const int connections = std::atoi(argv[1]), seconds = std::atoi(argv[2]);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    need(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
    need(listen(listener, 4096) == 0, "listen");
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);

    std::array<pid_t, kClients> clients{};
    for (int n = 0; n < kClients; ++n) {
        clients[static_cast<std::size_t>(n)] = fork();
        if (clients[static_cast<std::size_t>(n)] == 0)
            beat(n, connections * (n + 1) / kClients - connections * n / kClients, address);
    }
    const int set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < connections; ++i) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        need(fd >= 0, "accept");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        watch(set, fd, EPOLLIN);
    }
    answer(set, Clock::now() + kInterval);  // until the beats have their pace
    const auto began = Clock::now();
    const double before = cpu_seconds();
    answer(set, began + std::chrono::seconds{seconds});
    const std::chrono::duration<double> took = Clock::now() - began;
    std::printf("%.3f\n", (cpu_seconds() - before) / took.count());
    for (const pid_t client : clients) kill(client, SIGKILL);
    for (const pid_t client : clients) waitpid(client, nullptr, 0);
}
