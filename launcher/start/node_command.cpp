#include "launcher/start/node_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "launcher/print_error.hpp"
#include "launcher/start/exported.hpp"
#include "launcher/start/front_search.hpp"
#include "launcher/start/log_sender.hpp"
#include "launcher/start/node_relay.hpp"
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr auto kReachesFrontBy = std::chrono::seconds(30);
constexpr auto kKeyBy = std::chrono::seconds(60);
constexpr std::size_t kMostKeyBytes = 256;

struct Arguments {
    std::vector<rendezvous::Endpoint> front;
    std::string name, key;
};

/// The first line of standard input.
Result<std::string> read_key() {
    std::string key;
    const base::Time deadline = base::Clock::now() + kKeyBy;
    while (key.size() < kMostKeyBytes) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
        pollfd what{STDIN_FILENO, POLLIN, 0};
        char c = 0;
        if (left <= 0 || poll(&what, 1, static_cast<int>(left)) <= 0 || read(STDIN_FILENO, &c, 1) != 1) break;
        if (c == '\n') return base::text_result(std::move(key));
        key += c;
    }
    return Error{"no key on standard input, expected the line that the front end sends", exit_status::kRefused};
}

Result<Arguments> parse(const std::vector<std::string>& words) {
    Arguments found;
    for (const std::string& word : words) {
        const std::string_view value = std::string_view(word).substr(std::min(word.find('=') + 1, word.size()));
        if (word.starts_with("--front=")) {
            auto places = rendezvous::parse_endpoints(value, 0);
            if (!places) return places.error().within("agent: --front");
            found.front = std::move(places->places);
        } else if (word.starts_with("--name=")) {
            found.name = value;
        } else if (word.starts_with("--key=")) {
            found.key = value;
        } else {
            return Error{fmt::format("agent: {}: expected --front, --name or --key", base::printable(word))};
        }
    }
    if (found.front.empty() || found.key.empty())
        return Error{"agent: started by hand, expected the command that a front end (dlaunch --hosts) prints or runs"};
    if (const char* node = std::getenv("SLURMD_NODENAME"); node && found.name.empty()) found.name = node;
    if (found.name.empty()) return Error{"agent: no name, expected --name or SLURMD_NODENAME"};
    return found;
}

std::vector<std::string> own_environment() {
    std::vector<std::string> variables;
    for (char** at = environ; *at; ++at) variables.emplace_back(*at);
    return variables;
}

/// The strings stay until the process ends.
void replace_environment(std::vector<std::string> variables) {
    static std::vector<std::string> texts;
    texts = std::move(variables);
    clearenv();
    for (std::string& text : texts) putenv(text.data());
}

/// In the child: the guard of the node's dlaunch.
[[noreturn]] void become_dlaunch(const NodeOrder& order, const std::string& front, const RunJob& run_job,
                                 const std::array<int, 3>& files, int input_notices, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_status::kCoordinatorLost);
    setpgid(0, 0);  // a signal to the group of the agent process reaches the guard once, through the relay
    for (int target = 0; target < 3; ++target) dup2(files[static_cast<std::size_t>(target)], target);
    close_range(3, static_cast<unsigned>(input_notices) - 1, 0);
    close_range(static_cast<unsigned>(input_notices) + 1, ~0U, 0);
    std::vector<std::string> words = order.words;
    words.insert(words.begin() + 1, "--rdzv-endpoint=" + base::endpoint_text(front, order.coordinator_port));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    exit(run_job(argv, {.name = order.name,
                        .order_key = order.order_key,
                        .prints = order.prints,
                        .input_notices = order.has_input ? input_notices : -1}));
}

struct Pipe {
    base::UniqueFd reads, writes;
};

std::optional<Pipe> make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    return Pipe{base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

void make_nonblocking(const base::UniqueFd& fd) { fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

Result<NodeChild> start(const NodeOrder& order, const std::string& front, const RunJob& run_job) {
    auto out = make_pipe(), err = make_pipe(), in = make_pipe(), notices = make_pipe();
    if (!out || !err || !in || !notices)
        return Error{fmt::format("pipe: {}", std::strerror(errno)), exit_status::kCannotExecute};
    base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::array files{order.has_input ? in->reads.get() : null.get(), out->writes.get(), err->writes.get()};
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0) return Error{fmt::format("fork: {}", std::strerror(errno)), exit_status::kCannotExecute};
    if (pid == 0) become_dlaunch(order, front, run_job, files, notices->writes.get(), parent);
    NodeChild child{pid,
                    base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
                    order.has_input ? std::move(in->writes) : base::UniqueFd(),
                    std::move(notices->reads),
                    {std::move(out->reads), std::move(err->reads)}};
    for (const auto& fd : child.output) make_nonblocking(fd);
    if (child.input) make_nonblocking(child.input);
    make_nonblocking(child.input_notices);
    return child;
}

/// The front end closes the connection when it has read the reason.
int end_unable(int socket, int status, const std::string& reason) {
    const std::string frame = encode(NodeEnd{status, reason});
    send(socket, frame.data(), frame.size(), MSG_NOSIGNAL);
    char rest[4096];
    while (recv(socket, rest, sizeof rest, 0) > 0) {}
    return status;
}

}  // namespace

int run_node_agent(const std::vector<std::string>& words, const RunJob& run_job) {
    auto arguments = parse(words);
    if (!arguments) return print_error(arguments.error());
    if (arguments->key == "-") {
        auto key = read_key();
        if (!key) return print_error(key.error().within("agent"));
        arguments->key = std::move(*key);
    }
    const auto front = find_front(arguments->front, {DLAUNCH_VERSION, arguments->key, arguments->name},
                                  base::Clock::now() + kReachesFrontBy);
    if (!front) return print_error(front.error().within("agent"));
    auto order = await_order(front->socket.get());
    if (!order) return print_error(order.error().within("agent"));
    if (chdir(order->folder.c_str()) != 0)
        return end_unable(front->socket.get(), exit_status::kCannotExecute,
                          fmt::format("chdir {}: {}", base::printable(order->folder), std::strerror(errno)));
    replace_environment(merged(own_environment(), {order->variables, order->keeps_own_variables}));
    setenv("PWD", order->folder.c_str(), 1);
    std::filesystem::path logs;
    if (order->collects_logs) {
        logs = LogSender::make_folder();
        if (logs.empty())
            return end_unable(front->socket.get(), exit_status::kCannotExecute,
                              fmt::format("a folder for log files cannot be made: {}", std::strerror(errno)));
        order->words.insert(order->words.begin() + 1, "--log-dir=" + logs.string());
    }
    auto child = start(*order, front->address, run_job);
    if (!child) return end_unable(front->socket.get(), child.error().status, child.error().text);
    return NodeRelay(base::UniqueFd(fcntl(front->socket.get(), F_DUPFD_CLOEXEC, 0)), std::move(*child), logs).run();
}

}  // namespace dlaunch::launcher
