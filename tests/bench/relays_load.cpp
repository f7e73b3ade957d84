// The relays of many nodes in one process, each with a trunk to the round's store and a Proxy of its own, so they act
// as real relays: dial, join equal WAITs and GETs, grant credit. relays.py starts several of these processes.
//
//   relays_load store [TOKEN_FILE]                              a round's store
//   relays_load PORT FIRST COUNT RANKS WORLD_SIZE [TOKEN_FILE]  relays FIRST to FIRST+COUNT-1, RANKS workers each
//
// All are at 127.0.0.1, whose ports are enough for 28,000 relays; with a token all trunks are inside TLS. The store
// prints "serves PORT". After "go" on stdin every worker sends at once what torch.distributed.init_process_group and
// NCCL's first collective send: ADD to "init/"; SET of the rank's own address; WAIT and GET of one peer's; the
// store-based barrier (ADD, and a WAIT for the key that the last rank sets); SET of NCCL's id by rank 0, WAIT and GET
// by all others. Gloo's all-pairs exchange is left out: its size is the square of the world's. When the last worker of
// the process has all replies: "initialized TIME" with the monotonic clock in nanoseconds. Each process ends with its
// stdin.

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rendezvous/auth/token.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/relay/proxy.hpp"
#include "rendezvous/store/relay/trunk_link.hpp"
#include "rendezvous/store/server/threaded_server.hpp"

namespace {

using namespace dlaunch;
using store::Proxy;
using wire::StoreOperation;

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kKey = "a round";
constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::size_t kAddressBytes = 136, kIdBytes = 128;  // of Gloo's addresses for two ranks, and of ncclUniqueId

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "relays_load: %s\n", what.c_str());
    std::exit(1);
}

template <class T>
T needed(base::Result<T> result) {
    if (!result) fail(result.error().text);
    return std::move(*result);
}

void print(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

struct World {
    std::size_t size = 0;
    std::size_t unfinished = 0;  ///< workers of this process
};

/// A rank with one connection to its node's relay, and one request at a time.
struct Worker {
    std::size_t rank = 0;
    int step = 0;             ///< the next one
    std::size_t missing = 0;  ///< bytes of the reply
    std::string reply;
};

class Node {
public:
    Node(base::Loop& loop, store::TrunkTarget target, World& world, std::size_t first_rank, std::size_t ranks)
        : loop_(loop),
          world_(world),
          workers_(ranks),
          link_(loop, std::move(target),
                {.opened = [this] { flush(); },
                 .received =
                     [this](const wire::TrunkFrame& frame) {
                         const bool is_fine = proxy_.received(frame);
                         act();
                         return is_fine;
                     },
                 .drained = [] {},
                 .lost = [](const std::string& problem) { fail("a trunk has ended: " + problem); }}) {
        for (std::size_t each = 0; each < ranks; ++each) workers_[each].rank = first_rank + each;
    }

    void go() {
        for (Worker& worker : workers_) go_on(worker);
        act();
    }

private:
    void act() {
        for (auto actions = proxy_.take_actions(); !actions.empty(); actions = proxy_.take_actions()) {
            for (const Proxy::Action& action : actions) {
                if (const auto* deliver = std::get_if<Proxy::Deliver>(&action)) take(*deliver);
                if (std::holds_alternative<Proxy::Drop>(action)) fail("the store has closed a worker's connection");
            }
        }
        if (!proxy_.has_frames() || std::exchange(flushes_, true)) return;
        loop_.post([this] { flush(); });
    }

    void flush() {
        flushes_ = false;
        if (proxy_.has_frames()) link_.open();
        if (proxy_.has_frames() && link_.is_open()) link_.send(proxy_.take_frames());
    }

    void take(const Proxy::Deliver& deliver) {
        Worker& worker = workers_[deliver.to - 1];
        if (deliver.bytes.size() > worker.missing) fail("a reply is too long");
        worker.missing -= deliver.bytes.size();
        worker.reply += deliver.bytes;
        proxy_.drained(deliver.to);
        if (worker.missing == 0) go_on(worker);
    }

    /// Sends requests until one has a reply.
    void go_on(Worker& worker) {
        constexpr std::string_view kBarrier = "//worker/attempt_0/default_pg/store_based_barrier_key:1";
        constexpr std::string_view kLast = "//worker/attempt_0/default_pg/store_based_barrier_key:1:last_worker";
        constexpr std::string_view kId = "//worker/attempt_0/default_pg/0//cuda//0";
        const std::string peer = address_key((worker.rank + 1) % world_.size);
        while (worker.missing == 0) {
            const std::string reply = std::exchange(worker.reply, {});
            switch (worker.step++) {
                case 0: add(worker, "init/"); break;
                case 1: set(worker, address_key(worker.rank), std::string(kAddressBytes, 'a')); break;
                case 2: wait(worker, peer); break;
                case 3: get(worker, peer, kAddressBytes); break;
                case 4: add(worker, kBarrier); break;
                case 5:
                    if (wire::get_u64(reply) == world_.size) set(worker, kLast, "1");
                    wait(worker, kLast);
                    break;
                case 6: worker.rank == 0 ? set(worker, kId, std::string(kIdBytes, 'i')) : wait(worker, kId); break;
                case 7:
                    if (worker.rank != 0) get(worker, kId, kIdBytes);
                    break;
                default:
                    worker.missing = SIZE_MAX;  // no further requests
                    if (--world_.unfinished == 0)
                        print("initialized " +
                              std::to_string(std::chrono::nanoseconds(base::Clock::now().time_since_epoch()).count()));
            }
        }
    }

    static std::string address_key(std::size_t rank) {
        return "//worker/attempt_0/default_pg/0/0/" + std::to_string(rank);
    }

    void add(Worker& worker, std::string_view key) {
        ask(worker, {.operation = StoreOperation::add, .key = key, .integer = 1}, 8);
    }
    void set(Worker& worker, std::string_view key, std::string_view value) {
        ask(worker, {.operation = StoreOperation::set, .key = key, .value = value}, 0);
    }
    void wait(Worker& worker, std::string_view key) {
        ask(worker, {.operation = StoreOperation::wait, .words = {&key, 1}}, 1);
    }
    void get(Worker& worker, std::string_view key, std::size_t bytes) {
        ask(worker, {.operation = StoreOperation::get, .key = key}, 8 + bytes);
    }
    void ask(Worker& worker, const wire::Request& request, std::size_t reply_bytes) {
        const auto from = static_cast<Proxy::Local>(&worker - workers_.data()) + 1;
        if (!proxy_.request(from, request, wire::Numbering::newest)) fail("the relay has refused a request");
        worker.missing += reply_bytes;
    }

    base::Loop& loop_;
    World& world_;
    Proxy proxy_;
    std::vector<Worker> workers_;
    store::TrunkLink link_;
    bool flushes_ = false;  ///< a flush is posted
};

/// Returns with the end of stdin.
void run(base::Loop& loop, const std::function<void()>& go) {
    const auto commands = loop.readable(STDIN_FILENO, [&] {
        std::array<char, 16> bytes;
        read(STDIN_FILENO, bytes.data(), bytes.size()) > 0 ? go() : loop.stop();
    });
    loop.run();
}

void run_store(auth::TlsContextPtr tls) {
    const auto server = needed(store::ThreadedServer::adopt(
        needed(store::open_listener(kLoopback, 0)).socket,
        {.warn = [](const std::string& line) { std::fprintf(stderr, "relays_load: %s\n", line.c_str()); },
         .trunk_key = kKey,
         .tls = std::move(tls)}));
    print("serves " + std::to_string(server->port()));
    base::Loop loop;
    run(loop, [] {});
}

void run_relays(char** words, auth::TlsContextPtr tls) {
    const std::size_t first = std::stoul(words[1]), count = std::stoul(words[2]), ranks = std::stoul(words[3]);
    World world{.size = std::stoul(words[4]), .unfinished = count * ranks};
    base::Loop loop;
    std::vector<std::unique_ptr<Node>> nodes;
    const store::TrunkTarget target{
        .host = kLoopback, .port = std::stoi(words[0]), .key = kKey, .tls = std::move(tls), .patience = kPatience};
    for (std::size_t each = 0; each < count; ++each)
        nodes.push_back(std::make_unique<Node>(loop, target, world, (first + each) * ranks, ranks));
    print("ready");
    run(loop, [&] {
        for (const auto& node : nodes) node->go();
    });
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_store = argc > 1 && std::string(argv[1]) == "store";
    const int words = is_store ? 2 : 6;
    if (argc != words && argc != words + 1)
        fail("expected store or PORT FIRST COUNT RANKS WORLD_SIZE, and [TOKEN_FILE]");
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    auth::TlsContextPtr tls;
    if (argc > words) tls = needed(auth::TlsContext::of(*needed(auth::read_token(argv[words]))));
    is_store ? run_store(std::move(tls)) : run_relays(argv + 1, std::move(tls));
}
