#include "launcher/start/node_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "agent/process/limits.hpp"
#include "launcher/print_error.hpp"
#include "launcher/start/exported.hpp"
#include "launcher/start/front_search.hpp"
#include "launcher/start/log_sender.hpp"
#include "launcher/start/node_relay.hpp"
#include "rendezvous/auth/hidden_memory.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/auth/token.hpp"
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/base64.hpp"
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
constexpr std::size_t kMostKeyBytes = 4 * auth::Token::kMost / 3 + 4;  // in base64

struct Arguments {
    std::vector<rendezvous::Endpoint> front;
    std::string name;
    std::string key;                ///< of an open job; "-": on standard input
    std::string token, token_file;  ///< of another: the first is "-"
};

/// The first line of standard input.
Result<std::string> read_key() {
    std::string key;
    key.reserve(kMostKeyBytes);  // one copy in memory
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
        } else if (word == "--token=-") {
            found.token = value;
        } else if (word.starts_with("--token-file=")) {
            found.token_file = value;
        } else {
            return Error{
                fmt::format("agent: {}: expected --front, --name, --key, --token=- or --token-file; is the front end's "
                            "dlaunch of another version than {}?",
                            base::printable(word), DLAUNCH_VERSION)};
        }
    }
    if (found.front.empty() || (found.key.empty() && found.token.empty() && found.token_file.empty()))
        return Error{"agent: started by hand, expected the command that a front end (dlaunch --hosts) prints or runs"};
    if (const char* node = std::getenv("SLURMD_NODENAME"); node && found.name.empty()) found.name = node;
    if (found.name.empty()) return Error{"agent: no name, expected --name or SLURMD_NODENAME"};
    return found;
}

/// Null: an open job.
Result<auth::TokenPtr> token_of(const Arguments& arguments) {
    if (!arguments.token_file.empty()) return auth::read_token(arguments.token_file);
    if (arguments.token.empty()) return auth::TokenPtr();
    auto line = read_key();
    if (!line) return line.error();
    auto bytes = base::from_base64(*line);
    explicit_bzero(line->data(), line->size());
    if (!bytes) return Error{"the line on standard input is no token", exit_status::kRefused};
    auto token = std::make_shared<const auth::Token>(*bytes);
    explicit_bzero(bytes->data(), bytes->size());
    return token;
}

/// Sends the hello, inside TLS if there is a token.
Result<FrontConnection> reach_front(const Arguments& arguments, const auth::TokenPtr& token) {
    auto tls = token ? auth::TlsContext::of(*token) : Result<auth::TlsContextPtr>(auth::TlsContextPtr());
    if (!tls) return tls.error();
    return find_front(arguments.front, {DLAUNCH_VERSION, arguments.key, arguments.name}, *tls,
                      base::Clock::now() + kReachesFrontBy);
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

/// Inputs of the node's dlaunch besides the order.
struct Surroundings {
    std::string front_address;
    auth::TokenPtr token;
    std::string temporary_folder;  ///< StartedNode::temporary_folder
};

/// In the child: the guard of the node's dlaunch.
[[noreturn]] void become_dlaunch(const NodeOrder& order, const Surroundings& around, const RunJob& run_job,
                                 const std::array<int, 3>& files, int front_notices, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(exit_status::kCoordinatorLost);
    setpgid(0, 0);  // a signal to the group of the agent process reaches the guard once, through the relay
    for (int target = 0; target < 3; ++target) dup2(files[static_cast<std::size_t>(target)], target);
    close_range(3, static_cast<unsigned>(front_notices) - 1, 0);
    close_range(static_cast<unsigned>(front_notices) + 1, ~0U, 0);
    std::vector<std::string> words = order.words;
    words.insert(words.begin() + 1,
                 "--rdzv-endpoint=" + base::endpoint_text(around.front_address, order.coordinator_port));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    exit(run_job(argv, {.name = order.name,
                        .order_key = order.order_key,
                        .prints = order.prints,
                        .relays_output = order.relays_output,
                        .front_terminals = order.terminals,
                        .front_notices = front_notices,
                        .token = around.token,
                        .temporary_folder = around.temporary_folder}));
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

Result<NodeChild> start(const NodeOrder& order, const Surroundings& around, const RunJob& run_job) {
    auto out = make_pipe(), err = make_pipe(), in = make_pipe(), notices = make_pipe();
    if (!out || !err || !in || !notices)
        return Error{fmt::format("pipe: {}", std::strerror(errno)), exit_status::kCannotExecute};
    base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::array files{order.has_input ? in->reads.get() : null.get(), out->writes.get(), err->writes.get()};
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0) return Error{fmt::format("fork: {}", std::strerror(errno)), exit_status::kCannotExecute};
    if (pid == 0) become_dlaunch(order, around, run_job, files, notices->writes.get(), parent);
    NodeChild child{pid,
                    base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
                    order.has_input ? std::move(in->writes) : base::UniqueFd(),
                    std::move(notices->reads),
                    {std::move(out->reads), std::move(err->reads)}};
    for (const auto& fd : child.output) make_nonblocking(fd);
    if (child.input) make_nonblocking(child.input);
    make_nonblocking(child.front_notices);
    return child;
}

int end_unable(const FrontConnection& front, int status, const std::string& reason) {
    send_last(front, {status, reason});
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
    const auto token = token_of(*arguments);
    if (!token) return print_error(token.error().within("agent"));
    if (*token) auth::hide_memory();
    const auto front = reach_front(*arguments, *token);
    if (!front) return print_error(front.error().within("agent"));
    auto order = await_order(*front);
    if (!order) return print_error(order.error().within("agent"));
    if (const std::string error = agent::too_few_open_files(false); !error.empty())
        return end_unable(*front, exit_status::kCannotExecute, error);
    if (chdir(order->folder.c_str()) != 0)
        return end_unable(*front, exit_status::kCannotExecute,
                          fmt::format("chdir {}: {}", base::printable(order->folder), std::strerror(errno)));
    const char* const temporary = std::getenv("TMPDIR");
    const Surroundings around{front->address, *token, temporary ? temporary : ""};
    replace_environment(merged(own_environment(), {order->variables, order->keeps_own_variables}));
    setenv("PWD", order->folder.c_str(), 1);
    std::filesystem::path logs;
    if (order->collects_logs) {
        logs = LogSender::make_folder(around.temporary_folder);
        if (logs.empty())
            return end_unable(*front, exit_status::kCannotExecute,
                              fmt::format("a folder for log files cannot be made: {}", std::strerror(errno)));
        order->words.insert(order->words.begin() + 1, "--log-dir=" + logs.string());
    }
    auto child = start(*order, around, run_job);
    if (!child) return end_unable(*front, child.error().status, child.error().text);
    const pid_t pid = child->pid;
    try {
        return NodeRelay(*front, std::move(*child), logs).run();
    } catch (const std::exception& error) {  // Asio: no more open files
        kill(pid, SIGKILL);
        return end_unable(*front, exit_status::kCannotExecute, error.what());
    }
}

}  // namespace dlaunch::launcher
