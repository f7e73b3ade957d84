#include "agent/mpi/pmix_service.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "agent/mpi/pmix_server.hpp"
#include "agent/mpi/session_files.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

using Kind = PmixMessage::Kind;

constexpr const char* kSharedMemory = "/dev/shm";

/// For another node's report of the failure that this node can see, too.
constexpr auto kOtherNodeDue = std::chrono::seconds(1);

/// The numbers in "0,3,17".
std::vector<int> numbers_of(const std::string& list) {
    std::vector<int> numbers;
    for (const std::string_view each : base::split(list, ',')) numbers.push_back(std::atoi(std::string(each).c_str()));
    return numbers;
}

}  // namespace

PmixService::Round::Round(base::Loop& loop, const Assignment& round)
    : assignment(round),
      world(loop, round, kWorldFence),
      book(static_cast<std::size_t>(round.ranks.workers())),
      names(loop, round),
      store(std::make_unique<StoreClient>(loop, round.store_addr(), round.store_port())) {
    variables.resize(static_cast<std::size_t>(round.ranks.workers()));
}

PmixService::PmixService(base::Loop& loop, const Plan& plan, Children& children, MpiCallbacks callbacks)
    : loop_(loop), plan_(plan), children_(children), callbacks_(std::move(callbacks)) {}

// --- start -----------------------------------------------------------------------------------------------------------

void PmixService::prepare(const Assignment& assignment) {
    leaving_.reset();
    round_ = std::make_shared<Round>(loop_, assignment);
    const std::string name = fmt::format("/dlaunch-mpi-{:016x}", base::random_number());
    round_->job.folder = plan_.temporary_folder + name;
    round_->job.memory = kSharedMemory + name;
    for (const std::string& folder : {round_->job.folder, round_->job.memory}) callbacks_.register_folder(folder);
    round_->place.oversubscribed = assignment.ranks.workers() > plan_.host.usable_cores;
    round_->process = std::make_unique<PmixProcess>(
        loop_, children_, pmix_server_environment(plan_.host),
        PmixProcess::Observer{.on_message = [this](const PmixMessage& message) { on_message(message); },
                              .on_end = [this](const std::string& how) { on_server_end(how); }});
    if (alone()) return begin({0, {ranks_here(plan_, assignment)}, base::random_number()});
    round_->world.gather_world(MpiFamily::pmix, plan_, assignment, [this](const base::Result<MpiWorld>& world) {
        if (!world) return lose_store(world.error());
        begin(*world);
    });
}

void PmixService::begin(const MpiWorld& world) {
    round_->job.world = world;
    round_->job.space = fmt::format("dlaunch-{:016x}", world.number);  // ports of Open MPI have it
    round_->process->send(to_message(round_->job));
    if (!alone()) await_questions();
}

void PmixService::on_message(const PmixMessage& message) {
    if (!round_) return;
    switch (message.kind) {
        case Kind::failed: return fail(0, {exit_status::kNotFound, "was not started: " + message.text(0), true});
        case Kind::variables: return on_variables(message);
        case Kind::ready: return on_ready(message.text(0));
        case Kind::connected: return on_connected(message.number(0));
        case Kind::finalized: return round_->book.finalized(message.number(0));
        case Kind::aborted: return on_aborted(message.number(0), message.number(1));
        case Kind::spawns:
            return callbacks_.print(
                fmt::format("rank {} called MPI_Comm_spawn, which dlaunch does not offer: start all programs at once, "
                            "as in a : b",
                            round_->assignment.ranks.rank(message.number(0))));
        case Kind::fence: return enter_fence(message);
        case Kind::question: return find_data(message);
        case Kind::data: return store_data(message);
        case Kind::publish:
        case Kind::look_up:
        case Kind::unpublish: return use_name(message);
        case Kind::job:
        case Kind::fence_done:
        case Kind::wanted:
        case Kind::found:
        case Kind::named: return;
    }
}

/// The report of the server's own reason, if there is one, has come before.
void PmixService::on_server_end(const std::string& how) {
    if (!round_) return;
    if (round_->ready) return fail(0, {1, fmt::format("lost the PMIx server of its node, which {}", how)});
    fail(0, {exit_status::kNotFound,
             fmt::format("was not started: the PMIx server {} while it loaded {}", how, kPmixLibrary), true});
}

void PmixService::on_variables(const PmixMessage& message) {
    Variables& variables = round_->variables[static_cast<std::size_t>(message.number(0))];
    for (std::size_t at = 1; at < message.fields.size(); ++at) {
        const std::string& entry = message.fields[at];
        const std::size_t equals = entry.find('=');
        if (equals != std::string::npos) variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
}

void PmixService::on_ready(const std::string& memory) {
    round_->place.memory = memory;
    round_->ready = true;
    control_->ready();
}

void PmixService::contribute(const Assignment&, int local_rank, Contribution& to) {
    const Variables& own = round_->variables[static_cast<std::size_t>(local_rank)];
    to.variables.insert(to.variables.end(), own.begin(), own.end());
    for (auto& variable : open_mpi_defaults(plan_, plan_.context_of(local_rank), round_->place))
        to.variables.push_back(std::move(variable));
}

// --- ranks -----------------------------------------------------------------------------------------------------------

void PmixService::on_connected(int local_rank) {
    if (const auto absent = round_->book.connected(local_rank)) return fail(*absent, PmixBook::is_missed());
    if (std::exchange(round_->announced, true) || alone()) return;
    announce();
    await_gone(local_rank);
}

/// The exit that is being judged gets its verdict from ended().
void PmixService::on_aborted(int local_rank, int code) {
    const Verdict verdict = round_->book.aborted(local_rank, code);
    if (local_rank != round_->ending) fail(local_rank, verdict);
}

/// The rank's last calls come before its exit.
void PmixService::ended(WorkerExit& exit) {
    if (!round_) return;
    const std::shared_ptr<Round> round = round_;
    round->ending = exit.local_rank;
    round->process->drain();
    round->ending = -1;
    if (auto verdict = round->book.ended(exit.local_rank, exit.status)) exit.verdict = std::move(verdict);
    if (round_ == round && !exit.verdict && round->book.absent() == exit.local_rank && !alone())
        await_others(exit.local_rank);
}

void PmixService::fail(int local_rank, const Verdict& verdict) { control_->fail(local_rank, verdict); }

/// Sets the key for which nodes with a rank that has ended without MPI wait.
void PmixService::announce() { set("begun", "1"); }

/// Reports the ended rank to the other nodes, and fails when ranks of another node use MPI: they wait for this rank. If
/// the node has no other worker, its round may end before.
void PmixService::await_others(int local_rank) {
    if (std::exchange(round_->awaits_others, true)) return;
    set("gone", std::to_string(round_->assignment.ranks.rank(local_rank)));
    await({key("begun")}, [this](const StoreClient::Values&) {
        if (const auto absent = round_->book.absent()) fail(*absent, PmixBook::is_missed());
    });
}

void PmixService::await_gone(int local_rank) {
    await({key("gone")}, [this, local_rank](const StoreClient::Values& values) {
        round_->late_failure = loop_.after(
            kOtherNodeDue, [this, local_rank, rank = values.front()] { fail(local_rank, PmixBook::waits_for(rank)); });
    });
}

// --- other nodes -----------------------------------------------------------------------------------------------------

std::string PmixService::key(const std::string& name) const {
    return round_prefix(round_->assignment) + "pmix/" + name;
}

void PmixService::set(const std::string& name, std::string_view value) {
    const auto is_set = [this, round = std::weak_ptr(round_)](const base::Result<StoreClient::Values>& done) {
        if (!done && !round.expired() && round.lock() == round_) lose_store(done.error());
    };
    round_->store->set(key(name), value, is_set);
}

/// The callback of a new store client, which is destroyed when its call is complete.
StoreClient::Done PmixService::waiting(Found found) {
    const auto client = round_->waiting.emplace(round_->waiting.end(), loop_, round_->assignment.store_addr(),
                                                round_->assignment.store_port());
    return [this, client, found = std::move(found)](const base::Result<StoreClient::Values>& values) {
        const std::weak_ptr<Round> round = round_;
        loop_.post([round, client] {
            if (const auto kept = round.lock()) kept->waiting.erase(client);
        });
        values ? found(*values) : lose_store(values.error());
    };
}

void PmixService::await(const StoreClient::Values& keys, Found found) {
    auto done = waiting(std::move(found));
    round_->waiting.back().get(keys, std::move(done));
}

void PmixService::exchange(const std::string& own_key, std::string_view value, const StoreClient::Values& keys,
                           Found found) {
    auto done = waiting(std::move(found));
    round_->waiting.back().exchange(own_key, value, keys, std::move(done));
}

void PmixService::enter_fence(const PmixMessage& message) {
    const std::string number = message.text(0), prefix = key("fence/" + message.text(1)) + "/";
    const std::vector<int> nodes = numbers_of(message.text(2));
    if (nodes.size() <= 1) return round_->process->send({Kind::fence_done, {number, message.text(3)}});
    StoreClient::Values keys;
    for (const int node : nodes) keys.push_back(prefix + std::to_string(node));
    exchange(prefix + std::to_string(round_->assignment.group_rank), message.text(3), keys,
             [this, number](const StoreClient::Values& values) {
                 std::string all;
                 for (const std::string& bytes : values) all += bytes;
                 round_->process->send({Kind::fence_done, {number, std::move(all)}});
             });
}

void PmixService::find_data(const PmixMessage& message) {
    if (!std::exchange(round_->asks, true)) set("wanted", "1");
    await({key("data/" + message.text(1))}, [this, number = message.text(0)](const StoreClient::Values& values) {
        round_->process->send({Kind::found, {number, values.front()}});
    });
}

void PmixService::store_data(const PmixMessage& message) { set("data/" + message.text(0), message.text(1)); }

void PmixService::await_questions() {
    await({key("wanted")}, [this](const StoreClient::Values&) { round_->process->send({Kind::wanted, {}}); });
}

void PmixService::use_name(const PmixMessage& message) {
    const std::string &number = message.text(0), &name = message.text(2);
    const int by = message.number(1);
    const auto reply = [process = round_->process.get(), number](bool is_done, const std::string& value) {
        process->send({Kind::named, {number, is_done ? "1" : "0", value}});
    };
    const auto done = [this, reply](const base::Result<bool>& is_done) {
        is_done ? reply(*is_done, {}) : lose_store(is_done.error());
    };
    const auto found = [this, reply](const base::Result<std::optional<std::string>>& value) {
        value ? reply(value->has_value(), value->value_or("")) : lose_store(value.error());
    };
    if (message.kind == Kind::unpublish) return round_->names.unpublish_if(by, name, std::to_string(by) + " ", done);
    if (message.kind == Kind::publish) {
        const auto use = message.number(4) == 1 ? PublishedNames::Use::once : PublishedNames::Use::always;
        return round_->names.publish(by, name, message.text(3), use, done);
    }
    if (message.number(3) == 0) return round_->names.look_up(by, name, found);
    round_->names.await(by, name, std::chrono::seconds(message.number(4)), found);
}

/// The failure names the node's first rank: all ranks need the store.
void PmixService::lose_store(const base::Error& error) {
    if (round_) fail(0, {exit_status::kCoordinatorLost, "cannot use MPI with the other nodes: " + error.text});
}

// --- end -------------------------------------------------------------------------------------------------------------

void PmixService::cleared() {
    if (!round_) return;
    const std::shared_ptr<Round> round = std::exchange(round_, nullptr);
    round->late_failure = {};
    if (round->awaits_others) leaving_ = std::move(round->store);  // the key "gone" may still be in flight
    const auto ended = std::make_shared<base::UniqueFd>(round->process->kill());
    loop_.post([round] {});  // not from within one of its callbacks
    removing_ = base::Background(loop_, [this, ended, places = std::vector{round->job.folder, round->job.memory}] {
        remove_session_files(*ended, places);
        return [this] {
            removing_ = {};
            if (const auto done = std::exchange(clean_, nullptr)) done();
        };
    });
}

void PmixService::when_clean(std::function<void()> done) {
    if (!removing_.busy()) return done();
    clean_ = std::move(done);
}

}  // namespace dlaunch::agent
