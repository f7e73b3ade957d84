#include "agent/mpi/pmix_server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pmix_server.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "agent/mpi/pmix_job.hpp"
#include "agent/mpi/pmix_job_data.hpp"
#include "agent/mpi/pmix_library.hpp"
#include "agent/mpi/pmix_message.hpp"
#include "agent/mpi/pmix_names.hpp"
#include "agent/process/leftovers.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {
namespace {

using Kind = PmixMessage::Kind;

constexpr int kAgent = STDIN_FILENO;

/// A later library's table of callbacks may be longer than this header's: zeros behind it mean "not offered".
struct Callbacks {
    pmix_server_module_t table{};
    void* later[64]{};
};

/// The handler of the agent's reply to a request.
using Answer = std::function<void(const PmixMessage& reply)>;

/// Gives the bytes of the reply to the library, which frees them by the last call when it has read them.
Answer give_bytes(pmix_modex_cbfunc_t call, void* data) {
    return [=](const PmixMessage& reply) {
        auto* kept = new std::string(reply.text(1));
        call(
            PMIX_SUCCESS, kept->data(), kept->size(), data, [](void* text) { delete static_cast<std::string*>(text); },
            kept);
    };
}

/// One per process. The library calls back from a thread of its own; the main thread reads the agent's messages.
class PmixServer {
public:
    int run();

    // Callbacks of the library.
    void connected(const pmix_proc_t& proc) { send({Kind::connected, {local_text(proc.rank)}}); }
    void finalized(const pmix_proc_t& proc) { send({Kind::finalized, {local_text(proc.rank)}}); }
    void aborted(const pmix_proc_t& proc, int code) {
        send({Kind::aborted, {local_text(proc.rank), std::to_string(code)}});
    }
    void spawns(const pmix_proc_t& proc) { send({Kind::spawns, {local_text(proc.rank)}}); }
    /// All fences of a `kind` and the same ranks follow each other in the same order on all nodes.
    void fence(const char* kind, const pmix_proc_t* procs, std::size_t count, std::string bytes, Answer answer);
    /// Sends a message with these fields behind a number, with which the agent replies.
    void ask(Kind kind, std::vector<std::string> fields, Answer answer);
    PmixNames& names() { return names_; }
    void data(int rank, std::string bytes) { send({Kind::data, {std::to_string(rank), std::move(bytes)}}); }

private:
    std::string begin(const PmixMessage& message);
    std::string make_folders();
    std::string init_library();
    std::string register_ranks();
    std::string send_variables(int local_rank, const pmix_proc_t& proc);
    void handle(const PmixMessage& message);
    void answer(const PmixMessage& reply);
    void ask_for_data();
    [[nodiscard]] pmix_proc_t proc_of(int rank) const;
    [[nodiscard]] std::string local_text(pmix_rank_t rank) const;
    [[nodiscard]] std::string failed(const char* call, pmix_status_t status) const;
    void send(const PmixMessage& message);

    PmixLibrary library_;
    PmixNames names_{library_, [this](Kind kind, std::vector<std::string> fields, Answer answer) {
                         ask(kind, std::move(fields), std::move(answer));
                     }};
    PmixJob job_;
    std::array<base::UniqueFd, 2> held_;  ///< locks of the round's folders: the next run may not remove them
    Callbacks callbacks_;
    std::vector<int> ranks_;  ///< of this node, by local rank

    std::mutex mutex_;  ///< protects what follows, and writing to the agent
    int questions_ = 0;
    std::map<int, Answer> answers_;      ///< by number of the question
    std::map<std::string, int> fences_;  ///< fences so far, by their kind and the set of their ranks
};

PmixServer server;

// --- callbacks -------------------------------------------------------------------------------------------------------

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    server.connected(*proc);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    server.finalized(*proc);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char*, pmix_proc_t*, std::size_t,
                       pmix_op_cbfunc_t, void*) {
    if (proc) server.aborted(*proc, status);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_fence(const pmix_proc_t* procs, std::size_t count, const pmix_info_t*, std::size_t, char* data,
                       std::size_t bytes, pmix_modex_cbfunc_t call, void* call_data) {
    server.fence("", procs, count, data ? std::string(data, bytes) : std::string(), give_bytes(call, call_data));
    return PMIX_SUCCESS;
}

pmix_status_t on_question(const pmix_proc_t* proc, const pmix_info_t*, std::size_t, pmix_modex_cbfunc_t call,
                          void* call_data) {
    server.ask(Kind::question, {std::to_string(proc->rank)}, give_bytes(call, call_data));
    return PMIX_SUCCESS;
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t* infos, std::size_t count, pmix_op_cbfunc_t call,
                         void* data) {
    server.names().publish(*proc, infos, count, call, data);
    return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t* proc, char** names, const pmix_info_t* infos, std::size_t count,
                        pmix_lookup_cbfunc_t call, void* data) {
    server.names().look_up(*proc, names, infos, count, call, data);
    return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** names, const pmix_info_t*, std::size_t,
                           pmix_op_cbfunc_t call, void* data) {
    server.names().unpublish(*proc, names, call, data);
    return PMIX_SUCCESS;
}

/// MPI_Comm_accept and MPI_Comm_connect: a fence of the ranks. No code for a failed rank: it fails the whole job.
pmix_status_t on_connect(const pmix_proc_t* procs, std::size_t count, const pmix_info_t*, std::size_t,
                         pmix_op_cbfunc_t call, void* data) {
    server.fence("connect/", procs, count, {}, [=](const PmixMessage&) { call(PMIX_SUCCESS, data); });
    return PMIX_SUCCESS;
}

pmix_status_t on_disconnect(const pmix_proc_t* procs, std::size_t count, const pmix_info_t*, std::size_t,
                            pmix_op_cbfunc_t call, void* data) {
    server.fence("disconnect/", procs, count, {}, [=](const PmixMessage&) { call(PMIX_SUCCESS, data); });
    return PMIX_SUCCESS;
}

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t*, std::size_t, const pmix_app_t*, std::size_t,
                       pmix_spawn_cbfunc_t, void*) {
    server.spawns(*proc);
    return PMIX_ERR_NOT_SUPPORTED;
}

/// `rank`: the number of the rank as a pointer.
void on_data(pmix_status_t status, char* data, std::size_t bytes, void* rank) {
    if (status == PMIX_SUCCESS)
        server.data(static_cast<int>(reinterpret_cast<std::intptr_t>(rank)),
                    data ? std::string(data, bytes) : std::string());
}

void on_done(pmix_status_t status, void* promise) {
    static_cast<std::promise<pmix_status_t>*>(promise)->set_value(status);
}

/// The result of a call that may complete later.
template <class Call>
pmix_status_t complete(Call call) {
    std::promise<pmix_status_t> done;
    const pmix_status_t status = call(on_done, &done);
    if (status == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    return status == PMIX_SUCCESS ? done.get_future().get() : status;
}

// --- start -----------------------------------------------------------------------------------------------------------

int PmixServer::run() {
    ::prctl(PR_SET_NAME, "dlaunch-pmix");
    // A signal to every process of the node concerns the workers, which need the server until the agent ends it.
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) ::signal(number, SIG_IGN);
    PmixMessages arrived;
    std::array<char, 1 << 16> bytes;
    for (bool has_job = false;;) {
        const ssize_t got = ::read(kAgent, bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) ::_exit(0);  // without the library's own end: its files go with the round's folder
        arrived.add({bytes.data(), static_cast<std::size_t>(got)});
        while (const auto message = arrived.next()) {
            if (std::exchange(has_job, true)) {
                handle(*message);
            } else if (const std::string error = begin(*message); !error.empty()) {
                send({Kind::failed, {error}});
                ::_exit(1);
            }
        }
    }
}

/// Returns what has failed; empty: nothing.
std::string PmixServer::begin(const PmixMessage& message) {
    job_ = to_job(message);
    ranks_ = ranks_of(job_.world.nodes[static_cast<std::size_t>(job_.world.here)]);
    auto library = PmixLibrary::load();
    if (!library) return library.error().text;
    library_ = *library;
    if (auto error = make_folders(); !error.empty()) return error;
    if (auto error = init_library(); !error.empty()) return error;
    if (auto error = register_ranks(); !error.empty()) return error;
    send({Kind::ready, {job_.memory}});
    return {};
}

/// Where there is no file system in memory, the ranks choose a place of their own.
std::string PmixServer::make_folders() {
    constexpr mode_t kOwnerOnly = 0700;
    if (::mkdir(job_.folder.c_str(), kOwnerOnly) != 0) return fmt::format("{}: {}", job_.folder, std::strerror(errno));
    if (::mkdir(job_.memory.c_str(), kOwnerOnly) != 0) job_.memory.clear();
    held_ = {hold_folder(job_.folder), hold_folder(job_.memory)};
    return {};
}

std::string PmixServer::failed(const char* call, pmix_status_t status) const {
    return fmt::format("PMIx: {} failed: {}", call, library_.error_text(status));
}

std::string PmixServer::init_library() {
    callbacks_.table.client_connected = on_connected;
    callbacks_.table.client_finalized = on_finalized;
    callbacks_.table.abort = on_abort;
    callbacks_.table.fence_nb = on_fence;
    callbacks_.table.direct_modex = on_question;
    callbacks_.table.publish = on_publish;
    callbacks_.table.lookup = on_lookup;
    callbacks_.table.unpublish = on_unpublish;
    callbacks_.table.connect = on_connect;
    callbacks_.table.disconnect = on_disconnect;
    callbacks_.table.spawn = on_spawn;
    ::setenv("TMPDIR", job_.folder.c_str(), 1);
    PmixInfos infos;
    infos.add(PMIX_SERVER_TMPDIR, job_.folder);
    infos.add(PMIX_HOSTNAME, node_names(job_.world)[static_cast<std::size_t>(job_.world.here)]);
    const pmix_status_t status = library_.init(&callbacks_.table, infos.data(), infos.size());
    return status == PMIX_SUCCESS ? std::string() : failed("PMIx_server_init", status);
}

pmix_proc_t PmixServer::proc_of(int rank) const {
    pmix_proc_t proc{};
    std::strncpy(proc.nspace, job_.space.c_str(), PMIX_MAX_NSLEN);
    proc.rank = static_cast<pmix_rank_t>(rank);
    return proc;
}

std::string PmixServer::register_ranks() {
    PmixInfos data = job_data(library_, job_);
    const pmix_proc_t space = proc_of(0);
    const auto told = complete([&](pmix_op_cbfunc_t done, void* promise) {
        return library_.register_space(space.nspace, static_cast<int>(ranks_.size()), data.data(), data.size(), done,
                                       promise);
    });
    if (told != PMIX_SUCCESS) return failed("PMIx_server_register_nspace", told);
    for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
        const pmix_proc_t proc = proc_of(ranks_[local_rank]);
        const auto known = complete([&](pmix_op_cbfunc_t done, void* promise) {
            return library_.register_client(&proc, ::geteuid(), ::getegid(), nullptr, done, promise);
        });
        if (known != PMIX_SUCCESS) return failed("PMIx_server_register_client", known);
        if (auto error = send_variables(static_cast<int>(local_rank), proc); !error.empty()) return error;
    }
    return {};
}

std::string PmixServer::send_variables(int local_rank, const pmix_proc_t& proc) {
    char** variables = nullptr;
    const pmix_status_t status = library_.setup_fork(&proc, &variables);
    if (status != PMIX_SUCCESS) return failed("PMIx_server_setup_fork", status);
    PmixMessage message{Kind::variables, {std::to_string(local_rank)}};
    for (char** each = variables; each && *each; ++each) message.fields.emplace_back(*each);
    send(message);
    return {};
}

// --- while the ranks run ---------------------------------------------------------------------------------------------

void PmixServer::send(const PmixMessage& message) {
    const std::string bytes = encode(message);
    const std::scoped_lock lock(mutex_);
    if (!base::write_all(kAgent, bytes)) ::_exit(1);
}

std::string PmixServer::local_text(pmix_rank_t rank) const {
    return std::to_string(std::ranges::find(ranks_, static_cast<int>(rank)) - ranks_.begin());
}

void PmixServer::ask(Kind kind, std::vector<std::string> fields, Answer answer) {
    {
        const std::scoped_lock lock(mutex_);
        answers_[++questions_] = std::move(answer);
        fields.insert(fields.begin(), std::to_string(questions_));
    }
    send({kind, std::move(fields)});
}

void PmixServer::fence(const char* kind, const pmix_proc_t* procs, std::size_t count, std::string bytes,
                       Answer answer) {
    std::set<int> ranks, nodes;
    for (std::size_t at = 0; at < count; ++at)
        if (procs[at].rank != PMIX_RANK_WILDCARD) ranks.insert(static_cast<int>(procs[at].rank));
    for (std::size_t node = 0; node < job_.world.nodes.size(); ++node)
        for (const int rank : ranks_of(job_.world.nodes[node]))
            if (ranks.empty() || ranks.contains(rank)) nodes.insert(static_cast<int>(node));
    const std::string set = kind + (ranks.empty() ? "all" : fmt::format("{}", fmt::join(ranks, "_")));
    int earlier = 0;
    {
        const std::scoped_lock lock(mutex_);
        earlier = fences_[set]++;
    }
    ask(Kind::fence, {fmt::format("{}/{}", set, earlier), fmt::format("{}", fmt::join(nodes, ",")), std::move(bytes)},
        std::move(answer));
}

void PmixServer::handle(const PmixMessage& message) {
    if (message.kind == Kind::wanted) return ask_for_data();
    answer(message);
}

void PmixServer::answer(const PmixMessage& reply) {
    std::unique_lock lock(mutex_);
    const auto found = answers_.extract(reply.number(0));
    lock.unlock();
    if (found) found.mapped()(reply);
}

/// Each answer comes when the rank has published its data.
void PmixServer::ask_for_data() {
    for (const int rank : ranks_) {
        const pmix_proc_t proc = proc_of(rank);
        library_.request_data(&proc, on_data, reinterpret_cast<void*>(static_cast<std::intptr_t>(rank)));
    }
}

}  // namespace

int run_pmix_server() { return server.run(); }

}  // namespace dlaunch::agent
