// Loads a store server from one thread and prints one line of JSON. The same operations are sent to servers of torch's
// store protocol and to Redis.
//
//   store_load store|redis PORT load OP CLIENTS SECONDS     OP: set_get, set_wait_get, add, add_one, ping
//   store_load store|redis PORT wake CLIENTS TURNS          all wait for one key; from the SET until the last wake-up
//   store_load store|redis PORT connect CLIENTS TURNS       connect and a first reply
//
// set_wait_get is the sequence of torch's client for set() and get(): SET without a reply, WAIT, GET; two round trips,
// like SET and GET in Redis. set_get omits the WAIT: one round trip against Redis's two, with the same effect.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "store_load: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

double since_us(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A request and the size of its reply in bytes; 0: no reply.
struct Step {
    std::string bytes;
    std::size_t answer;
};
using Steps = std::vector<Step>;

const std::string kValue(128, 'v');

std::string u64(std::uint64_t number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }
std::string text(const std::string& bytes) { return u64(bytes.size()) + bytes; }

/// The requests of either protocol.
struct Protocol {
    bool redis;

    static std::string command(const std::vector<std::string>& words) {
        std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
        for (const auto& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        return bytes;
    }
    [[nodiscard]] Steps hello() const {
        if (redis) return {{command({"PING"}), 7}};
        return {{std::string("\0\xCE\xF7\x85\x3C\x0D\1\2\3\4", 10), 4}};
    }
    [[nodiscard]] Steps ping() const {
        if (redis) return hello();
        return {{std::string("\x0D\1\2\3\4", 5), 4}};
    }
    /// `count`: number of this client's previous additions, which determines the length of Redis's reply.
    [[nodiscard]] Steps add(const std::string& key, long count) const {
        if (redis) return {{command({"INCR", key}), 3 + std::to_string(count + 1).size()}};
        return {{"\4" + text(key) + u64(1), 8}};
    }
    [[nodiscard]] Steps set(const std::string& key, const std::string& value) const {
        if (redis) return {{command({"SET", key, value}), 5}};
        return {{"\1" + text(key) + text(value), 0}};
    }
    [[nodiscard]] Steps set_get(const std::string& key, bool wait) const {
        if (redis) return {{command({"SET", key, kValue}), 5}, {command({"GET", key}), 8 + kValue.size()}};
        Steps steps{{"\1" + text(key) + text(kValue), 0}, {"\3" + text(key), 8 + kValue.size()}};
        if (wait) steps.insert(steps.begin() + 1, {"\6" + u64(1) + text(key), 1});
        return steps;
    }
    /// Redis has no WAIT; the closest equivalent is a subscription and a published message.
    [[nodiscard]] Steps wait(const std::string& key) const {
        if (!redis) return {{"\6" + u64(1) + text(key), 1}};
        const std::string name = "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
        return {{command({"SUBSCRIBE", key}), ("*3\r\n$9\r\nsubscribe\r\n" + name + ":1\r\n").size()},
                {"", ("*3\r\n$7\r\nmessage\r\n" + name + "$1\r\n1\r\n").size()},
                {command({"UNSUBSCRIBE", key}), ("*3\r\n$11\r\nunsubscribe\r\n" + name + ":0\r\n").size()}};
    }
    [[nodiscard]] Steps wake(const std::string& key, std::size_t clients) const {
        if (redis) return {{command({"PUBLISH", key, "1"}), 3 + std::to_string(clients).size()}};
        return {{"\1" + text(key) + text("1"), 0}};
    }
};

class Client {
public:
    Client(int set, int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int yes = 1;
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
            fail("connect");
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.ptr = this;
        if (epoll_ctl(set, EPOLL_CTL_ADD, socket_, &event) != 0) fail("epoll");
    }
    ~Client() { close(socket_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void start(Steps steps) {
        steps_ = std::move(steps);
        started = Clock::now();
        step_ = received_ = 0;
        sent_ = false;
        go_on();
    }
    /// Reads and writes until it would block. True: the last step is complete.
    bool advance() {
        if (idle()) return false;
        go_on();
        return idle();
    }
    [[nodiscard]] bool idle() const { return step_ == steps_.size(); }
    [[nodiscard]] std::size_t step() const { return step_; }

    Clock::time_point started;
    long rounds = 0;

private:
    void go_on() {
        for (; step_ < steps_.size(); ++step_, received_ = 0, sent_ = false) {
            const Step& step = steps_[step_];
            if (!sent_ && !step.bytes.empty()) {
                const ssize_t count = send(socket_, step.bytes.data(), step.bytes.size(), MSG_NOSIGNAL);
                if (count < 0 && (errno == EAGAIN || errno == ENOTCONN)) return;
                if (count != static_cast<ssize_t>(step.bytes.size())) fail("send");
            }
            sent_ = true;
            while (received_ < step.answer) {
                char buffer[4096];
                const ssize_t count = recv(socket_, buffer, std::min(sizeof buffer, step.answer - received_), 0);
                if (count < 0 && errno == EAGAIN) return;
                if (count <= 0) fail("recv");
                received_ += static_cast<std::size_t>(count);
            }
        }
    }

    int socket_;
    Steps steps_;
    std::size_t step_ = 0, received_ = 0;
    bool sent_ = false;
};

class Crowd {
public:
    Crowd(Protocol protocol, int port, std::size_t count) : set_(epoll_create1(0)) {
        for (std::size_t i = 0; i < count; ++i) {
            clients.push_back(std::make_unique<Client>(set_, port));
            clients.back()->start(protocol.hello());
        }
        until([&] { return all_idle(); });
    }
    ~Crowd() { close(set_); }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    /// Serves events until `done`; calls `finished` for each client that has completed its steps.
    void until(const std::function<bool()>& done, const std::function<void(Client&)>& finished = {}) {
        epoll_event events[256];
        while (!done()) {
            const int count = epoll_wait(set_, events, 256, 30'000);
            if (count <= 0) fail("no event for 30 s");
            for (int i = 0; i < count; ++i) {
                auto* client = static_cast<Client*>(events[i].data.ptr);
                if (client->advance() && finished) finished(*client);  // may start the client again
            }
        }
    }
    [[nodiscard]] bool all_idle() const {
        return std::all_of(clients.begin(), clients.end(), [](const auto& client) { return client->idle(); });
    }

    std::vector<std::unique_ptr<Client>> clients;

private:
    int set_;
};

void print(std::vector<double> times, double per_second) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double part) {
        return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    };
    std::printf("{\"samples\": %zu, \"per_second\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f}\n", times.size(),
                per_second, at(0.5), at(0.99));
}

void load(Protocol protocol, int port, const std::string& op, std::size_t count, double seconds) {
    Crowd crowd(protocol, port, count);
    const std::string mark = "/" + std::to_string(getpid()) + "/";
    constexpr long kFirstSum = 1'000'000'000'000;  // so many that Redis's replies keep their length
    if (op == "add_one") {
        crowd.clients.front()->start(protocol.set(mark, std::to_string(kFirstSum)));
        crowd.until([&] { return crowd.all_idle(); });
    }
    const auto next = [&](Client& client) {
        const std::string own = mark + std::to_string(reinterpret_cast<std::uintptr_t>(&client) % 100'000'007);
        if (op == "ping") return protocol.ping();
        if (op == "add_one") return protocol.add(mark, kFirstSum);
        if (op == "add") return protocol.add(own, client.rounds);
        return protocol.set_get(own + "/" + std::to_string(client.rounds % 1000), op == "set_wait_get");
    };
    std::vector<double> times;
    const auto start = Clock::now();
    const auto go_on = [&](Client& client) {
        for (client.start(next(client)); client.idle();
             client.start(next(client))) {  // the reply arrived during the write
            times.push_back(since_us(client.started));
            ++client.rounds;
        }
    };
    for (auto& client : crowd.clients) go_on(*client);
    crowd.until([&] { return since_us(start) > seconds * 1e6; },
                [&](Client& client) {
                    times.push_back(since_us(client.started));
                    ++client.rounds;
                    go_on(client);
                });
    if (times.empty()) fail("nothing was answered");
    const double took = since_us(start) / 1e6;
    const double per_second = static_cast<double>(times.size()) / took;
    print(std::move(times), per_second);
}

void wake(Protocol protocol, int port, std::size_t count, int turns) {
    Crowd crowd(protocol, port, count + 1);
    Client& setter = *crowd.clients.front();
    std::vector<double> times;
    for (int turn = 0; turn < turns; ++turn) {
        const std::string key = "/wake/" + std::to_string(getpid()) + "/" + std::to_string(1000 + turn);
        for (std::size_t i = 1; i <= count; ++i) crowd.clients[i]->start(protocol.wait(key));
        // Two round trips of another client: by then a server that serves clients in turn has read all WAITs. Redis
        // confirms subscriptions.
        for (int trip = 0; trip < 2; ++trip) {
            setter.start(protocol.ping());
            crowd.until([&] { return setter.idle(); });
        }
        if (protocol.redis)
            crowd.until([&] {
                return std::all_of(crowd.clients.begin() + 1, crowd.clients.end(),
                                   [](const auto& client) { return client->step() == 1; });
            });
        const auto start = Clock::now();
        setter.start(protocol.wake(key, count));
        const std::size_t last = protocol.redis ? 2 : 1;  // the step that completes a client's wake-up
        crowd.until([&] {
            return std::all_of(crowd.clients.begin() + 1, crowd.clients.end(),
                               [&](const auto& client) { return client->step() >= last; });
        });
        times.push_back(since_us(start));
        crowd.until([&] { return crowd.all_idle(); });
    }
    print(std::move(times), 0);
}

void connect_all(Protocol protocol, int port, std::size_t count, int turns) {
    std::vector<double> times;
    for (int turn = 0; turn < turns; ++turn) {
        const auto start = Clock::now();
        const Crowd crowd(protocol, port, count);
        times.push_back(since_us(start));
    }
    print(std::move(times), 0);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 5) {
        std::fputs("store_load: expected store|redis PORT load|wake|connect ...\n", stderr);
        return 2;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    const Protocol protocol{words[0] == "redis"};
    const int port = std::stoi(words[1]);
    if (words[2] == "load" && words.size() == 6)
        load(protocol, port, words[3], std::stoul(words[4]), std::stod(words[5]));
    if (words[2] == "wake") wake(protocol, port, std::stoul(words[3]), std::stoi(words[4]));
    if (words[2] == "connect") connect_all(protocol, port, std::stoul(words[3]), std::stoi(words[4]));
}
