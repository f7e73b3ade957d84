// Many agents in one process, each with a connection and a Member of its own, so they act as real agents: dial,
// beat, redial, report their state. agents.py starts several of these processes and sends commands as lines.
//
//   agents_load PORT JOB FIRST COUNT SOURCE_ADDRESS [TOKEN_FILE]
//
// The coordinator is at 127.0.0.1:PORT; with a token all connections are inside TLS. Connections come from
// SOURCE_ADDRESS, as a port of one address has at most 28,000 clients. Commands on stdin, one a line:
//   go         all agents dial at the same moment
//   fail       the first agent reports a failure of its round
//   over BYTES every agent reports that its workers have ended, as they were stopped, with records of so many bytes
//   succeed    every agent reports that its workers have ended well
// On stdout, one a line, with the monotonic clock in nanoseconds: "ready", "began TIME", and when the last agent has
// it:
//   assigned ROUND TIME SENT RECEIVED | stopped ROUND TIME | welcomed EPOCH TIME TOUCHED | ended TIME
// SENT and RECEIVED are bytes of all agents since the line before, TOUCHED how many agents' workers had to stop before.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/auth/tls.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/rounds/member.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace {

using namespace dlaunch::rendezvous;
using dlaunch::base::Clock;
using dlaunch::base::UniqueFd;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "agents_load: %s\n", what.c_str());
    std::exit(1);
}

struct Load {
    int port = 0;
    std::string job;
    std::size_t first = 0, count = 0;
    in_addr_t source = 0;
    dlaunch::auth::TlsContextPtr tls{};
};

struct Agent {
    std::optional<dlaunch::net::Stream> stream;
    std::string unsent;  ///< until a handshake is over
    bool connecting = false;
    std::unique_ptr<dlaunch::wire::FrameReader> reader;
    std::unique_ptr<Member> member;
    Time due = kNever;
    std::int32_t assigned = -1, stopped = -1;  ///< the latest round
    std::uint64_t epoch = 0;                   ///< of the latest welcome
};

class Agents {
public:
    explicit Agents(Load load) : load_(std::move(load)), all_(load_.count) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = kCommands;
        epoll_ctl(set_, EPOLL_CTL_ADD, STDIN_FILENO, &event);
        fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    }

    /// Until every agent has ended.
    void run() {
        print("ready");
        std::array<epoll_event, 256> events;
        while (ended_ < all_.size()) {
            const int count = epoll_wait(set_, events.data(), events.size(), timeout());
            for (int i = 0; i < count; ++i) {
                const auto which = events[static_cast<std::size_t>(i)].data.u64;
                which == kCommands ? take_commands() : serve(all_[which]);
            }
            tick();
        }
    }

private:
    static constexpr std::uint64_t kCommands = ~std::uint64_t{0};
    static constexpr int kStatus = 3;  ///< of a failure

    static void print(const std::string& line) {
        std::puts(line.c_str());
        std::fflush(stdout);
    }
    static long long nanoseconds() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
    }

    void take_commands() {
        std::array<char, 256> bytes;
        const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
        if (count == 0) fail("stdin was closed: no process reads the measurements");
        for (ssize_t i = 0; i < count; ++i) {
            if (bytes[static_cast<std::size_t>(i)] != '\n')
                command_ += bytes[static_cast<std::size_t>(i)];
            else
                carry_out(std::exchange(command_, {}));
        }
    }

    void carry_out(const std::string& command) {
        Cause cause{kStatus, "rank exited with 3", "rank 7 (node7, pid 4711) exited with 3 after 1.0 s", false, {}};
        const auto over = [&](bool succeeded, const std::optional<Cause>& why) {
            for (Agent& agent : all_)
                change(agent, [&](Member& member, Time now) { member.round_over(now, succeeded, why); });
        };
        if (command == "go") {
            print(fmt::format("began {}", nanoseconds()));
            for (std::size_t each = 0; each < all_.size(); ++each) begin(each);
        } else if (command == "fail") {
            change(all_.front(), [&](Member& member, Time now) { member.failed(now, cause); });
        } else if (command.starts_with("over ")) {
            cause.record.resize(static_cast<std::size_t>(std::atoll(command.c_str() + 5)), 'x');
            over(false, cause.record.empty() ? std::nullopt : std::optional(cause));
        } else if (command == "succeed") {
            over(true, {});
        } else {
            fail("unknown command " + command);
        }
    }

    void begin(std::size_t which) {
        const std::size_t number = load_.first + which + 1;
        Member::Options options;
        options.version = DLAUNCH_VERSION;
        options.job_id = load_.job;
        options.record.id = fmt::format("node{0:05}-4711-{0:016x}", number);
        options.record.host = fmt::format("node{:05}", number);
        options.record.address = "127.0.0.1";
        options.record.store_port = 40'000;
        options.record.blocks = {{0, 1, "default"}};
        options.coordinator = "127.0.0.1";
        options.fixed_coordinator = false;
        all_[which].member = std::make_unique<Member>(std::move(options), Clock::now(), number);
        act(all_[which]);
    }

    template <class Change>
    void change(Agent& agent, Change change) {
        if (!agent.member) return;
        change(*agent.member, Clock::now());
        act(agent);
    }

    void act(Agent& agent) {
        for (auto actions = agent.member->take_actions(); !actions.empty(); actions = agent.member->take_actions())
            for (const Member::Action& action : actions) perform(agent, action);
        if (const Time due = agent.member->deadline(); due != agent.due) {
            agent.due = due;
            if (due != kNever) timers_.emplace(due, &agent);
        }
    }

    void perform(Agent& agent, const Member::Action& action) {
        if (std::holds_alternative<Member::Connect>(action)) {
            dial(agent);
        } else if (std::holds_alternative<Member::Disconnect>(action)) {
            agent.stream.reset();
        } else if (const auto* out = std::get_if<Member::SendOut>(&action)) {
            send_bytes(agent, dlaunch::wire::encode(out->message));
        } else if (const auto* start = std::get_if<Member::StartWorkers>(&action)) {
            agent.assigned = start->assigned.stamp.round;
            if (++assigned_[agent.assigned] != all_.size()) return;
            print(fmt::format("assigned {} {} {} {}", agent.assigned, nanoseconds(), std::exchange(sent_, 0),
                              std::exchange(received_, 0)));
        } else if (std::holds_alternative<Member::StopWorkers>(action)) {
            agent.stopped = agent.assigned;
            if (++stopped_[agent.stopped] == all_.size())
                print(fmt::format("stopped {} {}", agent.stopped, nanoseconds()));
        } else if (std::holds_alternative<Member::KillWorkers>(action)) {
            ++touched_;
        } else if (const auto* end = std::get_if<Member::EndJob>(&action)) {
            if (end->status != 0 && end->status != kStatus)
                fail(fmt::format("an agent ended with {}: {}", end->status, end->reason));
            if (++ended_ == all_.size()) print(fmt::format("ended {}", nanoseconds()));
        }
    }

    void dial(Agent& agent) {
        if (agent.stream) agent.stream->reset();
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket) fail(fmt::format("socket: {}", std::strerror(errno)));
        const int yes = 1;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
        sockaddr_in from{}, to{};
        from.sin_family = to.sin_family = AF_INET;
        from.sin_addr.s_addr = load_.source;
        to.sin_port = htons(static_cast<std::uint16_t>(load_.port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
            fail(fmt::format("bind: {}", std::strerror(errno)));
        agent.connecting = true;
        agent.reader = std::make_unique<dlaunch::wire::FrameReader>();
        const int done = connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
        const int error = done == 0 ? 0 : errno;
        using dlaunch::auth::Tls;
        agent.unsent = dlaunch::wire::kGreeting;  // leaves with the first message, as MemberLink sends them
        agent.stream.emplace(std::move(socket),
                             load_.tls ? std::make_unique<Tls>(load_.tls, Tls::Side::client) : nullptr);
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        event.data.u64 = static_cast<std::uint64_t>(&agent - all_.data());
        epoll_ctl(set_, EPOLL_CTL_ADD, agent.stream->fd(), &event);
        if (error != 0 && error != EINPROGRESS) fail_to_connect(agent, error);
    }

    void fail_to_connect(Agent& agent, int error) {
        agent.stream.reset();
        change(agent, [&](Member& member, Time now) {
            member.connect_failed(now, {error == ECONNREFUSED, std::strerror(error)});
        });
    }

    void serve(Agent& agent) {
        using Kind = dlaunch::net::Stream::Received::Kind;
        if (!agent.stream) return;
        if (std::exchange(agent.connecting, false)) {
            int error = 0;
            socklen_t size = sizeof error;
            getsockopt(agent.stream->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0) return fail_to_connect(agent, error);
            static_cast<void>(agent.stream->flush());
            change(agent, [](Member& member, Time now) { member.connected(now); });
        }
        std::array<char, 16'384> bytes;
        while (agent.stream) {
            const bool was_open = agent.stream->is_open();
            const auto received = agent.stream->receive(bytes);
            if (!was_open && agent.stream->is_open()) send_bytes(agent, {});
            if (received.kind == Kind::nothing) return;
            if (received.kind != Kind::bytes) {
                agent.stream.reset();
                return change(agent, [&](Member& member, Time now) { member.closed(now, received.kind == Kind::end); });
            }
            received_ += received.bytes.size();
            agent.reader->feed(received.bytes);
            Message message;
            while (agent.stream && agent.reader->next(message) == dlaunch::wire::FrameReader::Outcome::message) {
                if (const auto* welcome = std::get_if<Welcome>(&message)) note_welcome(agent, welcome->stamp.epoch);
                change(agent, [&](Member& member, Time now) { member.received(now, message); });
            }
        }
    }

    void note_welcome(Agent& agent, std::uint64_t epoch) {
        if (std::exchange(agent.epoch, epoch) == epoch || ++welcomed_[epoch] != all_.size()) return;
        print(fmt::format("welcomed {} {} {}", epoch, nanoseconds(), touched_));
    }

    void send_bytes(Agent& agent, const std::string& message) {
        agent.unsent += message;
        if (!agent.stream || !agent.stream->is_open()) return;
        const std::string bytes = std::exchange(agent.unsent, {});
        if (agent.stream->send(bytes).bytes == bytes.size()) sent_ += bytes.size();  // else its end is read
    }

    [[nodiscard]] int timeout() const {
        if (timers_.empty()) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.top().first - Clock::now()).count();
        return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }

    void tick() {
        for (const Time now = Clock::now(); !timers_.empty() && timers_.top().first <= now;) {
            const auto [due, agent] = timers_.top();
            timers_.pop();
            if (agent->due != due) continue;  // it has another by now
            agent->due = kNever;
            change(*agent, [](Member& member, Time at) { member.tick(at); });
        }
    }

    using Timer = std::pair<Time, Agent*>;

    const Load load_;
    std::vector<Agent> all_;
    const int set_ = epoll_create1(EPOLL_CLOEXEC);
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
    std::string command_;
    std::map<std::int32_t, std::size_t> assigned_, stopped_;  // agents, by round
    std::map<std::uint64_t, std::size_t> welcomed_;           // by epoch
    std::size_t ended_ = 0, touched_ = 0, sent_ = 0, received_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6 && argc != 7) fail("expected PORT JOB FIRST COUNT SOURCE_ADDRESS [TOKEN_FILE]");
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    Load load{std::atoi(argv[1]), argv[2], static_cast<std::size_t>(std::atoll(argv[3])),
              static_cast<std::size_t>(std::atoll(argv[4])), inet_addr(argv[5])};
    if (argc == 7) {
        const auto token = dlaunch::auth::read_token(argv[6]);
        const auto tls = token ? dlaunch::auth::TlsContext::of(**token) : token.error();
        if (!tls) fail(tls.error().text);
        load.tls = *tls;
    }
    Agents(std::move(load)).run();
}
