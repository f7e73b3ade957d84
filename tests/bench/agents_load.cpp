// Simulated agents that meet at a coordinator, are told of a failure, meet again and end well; one line of JSON.
//
//   agents_load PORT JOB AGENTS [BEATING_SECONDS]
//
// The coordinator is a dlaunch of its own on 127.0.0.1 that waits for AGENTS + 1 nodes. All agents connect at the same
// moment and say what agents say; each has its own connection. Times are from the first connect() until the last agent
// has its assignment; from one agent's report of a failure until the last one is told to stop; and from the last report
// that all has stopped until the last one has its next assignment. Bytes are those of one agent, its own and the
// coordinator's, without the headers of TCP. With BEATING_SECONDS all agents beat for so long twice a second, spread
// evenly, before the failure.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/wire/rounds.hpp"

namespace {

using namespace dlaunch::rendezvous;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "agents_load: %s\n", what.c_str());
    std::exit(1);
}

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr int kAtOnce = 32;

class Agents {
public:
    struct Agent {
        int socket = -1;
        std::string hello;
        dlaunch::wire::FrameReader reader;
        int assigned = -1;  ///< the latest round
        int stopped = -1;
        bool ended = false;
    };

    Agents(int port, const std::string& job, int count) : all_(static_cast<std::size_t>(count)), port_(port) {
        for (std::size_t number = 0; number < all_.size(); ++number) {
            Join join;
            join.stamp.incarnation = 1;
            join.record.id = fmt::format("node{0:05}-4711-{0:016x}", number + 1);
            join.record.host = fmt::format("node{:05}", number + 1);
            join.record.address = "127.0.0.1";
            join.record.store_port = 40'000;
            join.record.role = "default";
            all_[number].hello = std::string(dlaunch::wire::kGreeting);
            all_[number].hello += dlaunch::wire::encode(Hello{DLAUNCH_VERSION, job, 1}) + dlaunch::wire::encode(join);
        }
    }

    void connect_all() {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port_));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int connecting = 0;
        for (Agent& agent : all_) {
            agent.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            const int yes = 1;
            setsockopt(agent.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            if (connect(agent.socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
                fail(fmt::format("connect: {}", std::strerror(errno)));
            epoll_event event{};
            event.events = EPOLLIN | EPOLLOUT | EPOLLET;
            event.data.ptr = &agent;
            if (epoll_ctl(set_, EPOLL_CTL_ADD, agent.socket, &event) != 0) fail("epoll_ctl");
            if (++connecting % kAtOnce == 0) serve_ready(0);  // an agent speaks as soon as it is connected
        }
    }

    /// Serves until `done` or, where it is given, the time.
    void until(const std::function<bool()>& done, Clock::time_point end = Clock::now() + std::chrono::minutes(1)) {
        while (!done()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
            if (left <= 0) return;
            serve_ready(static_cast<int>(left));
        }
    }

    void say(Agent& agent, const Message& message) { send_bytes(agent, dlaunch::wire::encode(message)); }
    void say_all(const Message& message) {
        const std::string bytes = dlaunch::wire::encode(message);
        for (Agent& agent : all_) send_bytes(agent, bytes);
    }
    [[nodiscard]] Stamp stamp() const { return {epoch_, round_, 1}; }
    Agent& operator[](std::size_t which) { return all_[which]; }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] bool all(std::size_t count) const { return count == all_.size(); }

    std::size_t assigned = 0, stopped = 0, ended = 0;  ///< agents that were told so in the current round
    std::size_t sent = 0, received = 0;                ///< bytes
    std::int32_t round_ = -1;

private:
    void send_bytes(Agent& agent, const std::string& bytes) {
        if (send(agent.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
            fail(fmt::format("send: {}", std::strerror(errno)));
        sent += bytes.size();
    }

    void serve_ready(int timeout_ms) {
        std::array<epoll_event, 256> events;
        const int count = epoll_wait(set_, events.data(), events.size(), timeout_ms);
        for (int i = 0; i < count; ++i) serve(*static_cast<Agent*>(events[static_cast<std::size_t>(i)].data.ptr));
    }

    void serve(Agent& agent) {
        std::array<char, 16'384> bytes;
        if (!agent.hello.empty()) {
            int error = 0;
            socklen_t size = sizeof error;
            getsockopt(agent.socket, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0) fail(fmt::format("connect: {}", std::strerror(error)));
            send_bytes(agent, std::exchange(agent.hello, {}));
        }
        for (;;) {
            const ssize_t count = recv(agent.socket, bytes.data(), bytes.size(), 0);
            if (count < 0 && errno == EAGAIN) return;
            if (count <= 0 && agent.ended) return;
            if (count <= 0) fail("an agent was closed");
            received += static_cast<std::size_t>(count);
            agent.reader.feed({bytes.data(), static_cast<std::size_t>(count)});
            Message message;
            while (agent.reader.next(message) == dlaunch::wire::FrameReader::Outcome::message) hear(agent, message);
        }
    }

    void hear(Agent& agent, const Message& message) {
        if (const auto* told = std::get_if<Assigned>(&message)) {
            if (told->stamp.round > round_) {
                round_ = told->stamp.round;
                assigned = stopped = 0;
            }
            epoch_ = told->stamp.epoch;
            if (std::exchange(agent.assigned, told->stamp.round) < round_) ++assigned;
        } else if (const auto* stop = std::get_if<StopRound>(&message)) {
            if (std::exchange(agent.stopped, stop->stamp.round) < round_) ++stopped;
        } else if (std::holds_alternative<End>(message)) {
            if (!std::exchange(agent.ended, true)) ++ended;
        } else if (const auto* refused = std::get_if<Refused>(&message)) {
            fail("refused: " + refused->reason);
        }
    }

    std::vector<Agent> all_;
    int port_;
    int set_ = epoll_create1(EPOLL_CLOEXEC);
    std::uint64_t epoch_ = 1;
};

/// CPU time of the processes that hold the port is read by who calls us: a line tells when.
void say_phase(const char* name) {
    std::printf("%s\n", name);
    std::fflush(stdout);
    if (std::getchar() == EOF) fail("nobody listens");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) fail("expected PORT JOB AGENTS [BEATING_SECONDS]");
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    Agents agents(std::atoi(argv[1]), argv[2], std::atoi(argv[3]));
    const double seconds = argc > 4 ? std::atof(argv[4]) : 0;
    const double count = static_cast<double>(agents.size());
    const auto check = [](bool good, const char* what) { good ? void() : fail(what); };

    auto start = Clock::now();
    agents.connect_all();
    agents.until([&] { return agents.all(agents.assigned); });
    check(agents.all(agents.assigned), "not all agents were assigned within a minute");
    const double meet_ms = ms_since(start);
    const double meet_sent = static_cast<double>(agents.sent) / count;
    const double meet_received = static_cast<double>(agents.received) / count;

    if (seconds > 0) {
        say_phase("beating");
        start = Clock::now();
        for (std::size_t turn = 0; ms_since(start) < seconds * 1e3; ++turn) {
            const auto due = start + std::chrono::milliseconds(10) * static_cast<int>(turn + 1);
            for (std::size_t at = turn % 50; at < agents.size(); at += 50)
                agents.say(agents[at], Beat{agents.stamp(), turn});
            agents.until([] { return false; }, due);
        }
        say_phase("silent");
    }

    const Cause cause{3, "rank exited with 3", "rank 7 (node7, pid 4711) exited with 3 after 1.0 s", false, {}};
    const std::size_t sent = agents.sent, received = agents.received;
    start = Clock::now();
    agents.say(agents[agents.size() / 2], Report{agents.stamp(), Report::Phase::failed, false, cause});
    agents.until([&] { return agents.all(agents.stopped); });
    check(agents.all(agents.stopped), "not all agents were told to stop within a minute");
    const double told_ms = ms_since(start);

    const auto first = agents.round_;
    start = Clock::now();
    agents.say_all(Report{agents.stamp(), Report::Phase::over, false, {}});
    agents.until([&] { return agents.round_ > first && agents.all(agents.assigned); });
    check(agents.round_ > first, "no second round within a minute");
    const double again_ms = ms_since(start);
    const double again_sent = static_cast<double>(agents.sent - sent) / count;
    const double again_received = static_cast<double>(agents.received - received) / count;

    start = Clock::now();
    agents.say_all(Report{agents.stamp(), Report::Phase::over, true, {}});
    agents.until([&] { return agents.all(agents.ended); });
    check(agents.all(agents.ended), "not all agents were told the end within a minute");
    fmt::print(
        "{{\"meet_ms\": {:.2f}, \"told_ms\": {:.2f}, \"again_ms\": {:.2f}, \"end_ms\": {:.2f}, \"meet_sent\": {:.1f}, "
        "\"meet_received\": {:.1f}, \"again_sent\": {:.1f}, \"again_received\": {:.1f}}}\n",
        meet_ms, told_ms, again_ms, ms_since(start), meet_sent, meet_received, again_sent, again_received);
}
