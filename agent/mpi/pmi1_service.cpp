#include "agent/mpi/pmi1_service.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/mpi/process_mapping.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {

using Kind = Pmi1Action::Kind;

namespace {

/// For another node's report of the failure that this node can see, too.
constexpr auto kOtherNodeDue = std::chrono::seconds(1);

void set(Variables& variables, const char* name, int value) { variables.emplace_back(name, std::to_string(value)); }

}  // namespace

Pmi1Service::Round::Round(base::Loop& loop, const Assignment& round)
    : assignment(round),
      world(loop, round, kWorldFence),
      fence(std::make_unique<NodeFence>(loop, round, "pmi1")),
      names(loop, round) {
    connections.resize(static_cast<std::size_t>(round.ranks.workers()));
}

Pmi1Service::Pmi1Service(base::Loop& loop, const Plan& plan, Print print)
    : loop_(loop), plan_(plan), print_(std::move(print)) {}

void Pmi1Service::prepare(const Assignment& assignment) {
    leaving_.reset();
    round_ = std::make_shared<Round>(loop_, assignment);
    if (assignment.group_world_size == 1) return begin({0, {ranks_here(plan_, assignment)}});
    round_->world.gather_world(MpiFamily::pmi1, plan_, assignment, [this](const base::Result<MpiWorld>& world) {
        if (!world) return lose_store(world.error());
        begin(*world);
        control_->ready();
    });
}

void Pmi1Service::begin(const MpiWorld& world) {
    const Assignment& assignment = round_->assignment;
    Pmi1Server::Options options{.space = fmt::format("dlaunch_{}", assignment.round),
                                .world_size = assignment.world_size,
                                .mapping = process_mapping(world.nodes_by_rank().value_or(std::vector<int>{})),
                                .alone = assignment.group_world_size == 1};
    for (int local_rank = 0; local_rank < assignment.ranks.workers(); ++local_rank) {
        options.ranks.push_back(assignment.ranks.rank(local_rank));
        options.appnums.push_back(plan_.context_of(local_rank).appnum);
    }
    round_->server.emplace(std::move(options));
}

/// MPICH's and Intel's libraries read the local rank from MPI_LOCALRANKID, as Hydra sets it.
void Pmi1Service::contribute(const Assignment& assignment, int local_rank, Contribution& to) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        to.refusal = fmt::format("the PMI socket: {}", std::strerror(errno));
        return;
    }
    base::UniqueFd ours(ends[0]);
    to.owned.emplace_back(ends[1]);
    to.inherited.push_back(ends[1]);
    fcntl(ours.get(), F_SETFL, O_NONBLOCK);
    Variables& variables = to.variables;
    set(variables, "PMI_FD", ends[1]);
    set(variables, "PMI_RANK", assignment.ranks.rank(local_rank));
    set(variables, "PMI_SIZE", assignment.world_size);
    set(variables, "MPI_LOCALRANKID", local_rank);
    set(variables, "MPI_LOCALNRANKS", assignment.ranks.workers());
    round_->connections[static_cast<std::size_t>(local_rank)] =
        std::make_unique<Pmi1Connection>(loop_, std::move(ours),
                                         Pmi1Connection::Observer{.on_line =
                                                                      [this, local_rank](std::string_view line) {
                                                                          round_->server->line(local_rank, line);
                                                                          perform();
                                                                      },
                                                                  .on_endless =
                                                                      [this, local_rank] {
                                                                          round_->server->endless(local_rank);
                                                                          perform();
                                                                      }});
}

/// The rank's last requests, such as an abort, come before its exit.
void Pmi1Service::ended(WorkerExit& exit) {
    if (!is_ready()) return;
    if (const auto& connection = round_->connections[static_cast<std::size_t>(exit.local_rank)]) {
        connection->drain();
        connection->close();
    }
    if (auto verdict = round_->server->ended(exit.local_rank, exit.status)) exit.verdict = std::move(verdict);
    perform();
}

/// Runs to completion: an action may lead to further ones. A failure may end the round.
void Pmi1Service::perform() {
    const std::shared_ptr<Round> round = round_;
    if (std::exchange(round->performing, true)) return;
    for (auto actions = round->server->take_actions(); !actions.empty(); actions = round->server->take_actions())
        for (const Pmi1Action& action : actions)
            if (round == round_) perform(action);
    round->performing = false;
}

/// The other nodes' ranks may wait for a rank of this node after its last worker's end.
void Pmi1Service::finish() {
    if (is_ready() && round_->server->has_sent_gone()) leaving_ = std::move(round_->fence);
    round_.reset();
}

void Pmi1Service::perform(const Pmi1Action& action) {
    const auto& connection = round_->connections[static_cast<std::size_t>(action.local_rank)];
    switch (action.kind) {
        case Kind::reply: return connection ? connection->send(action.text) : void();
        case Kind::fence: return enter_fence(action);
        case Kind::publish:
        case Kind::unpublish:
        case Kind::look_up: return use_name(action);
        case Kind::fail: return control_->fail(action.local_rank, {action.code, action.text});
        case Kind::fail_late:
            round_->late_failure = loop_.after(
                kOtherNodeDue, [this, rank = action.local_rank, verdict = Verdict{action.code, action.text}] {
                    control_->fail(rank, verdict);
                });
            return;
        case Kind::notice: return print_(action.text);
    }
}

void Pmi1Service::enter_fence(const Pmi1Action& action) {
    const bool is_needed = !action.text.starts_with(Pmi1Server::kGone);
    round_->fence->enter(action.text, [this, is_needed, round = std::weak_ptr(round_)](const auto& nodes) {
        if (round.expired()) return;
        if (!nodes) return is_needed ? lose_store(nodes.error()) : void();
        round_->server->fenced(*nodes);
        perform();
    });
}

void Pmi1Service::use_name(const Pmi1Action& action) {
    const auto done = [this, rank = action.local_rank](const base::Result<bool>& is_done) {
        if (!is_done) return lose_store(is_done.error());
        round_->server->stored(rank, *is_done);
        perform();
    };
    const auto found = [this, rank = action.local_rank](const base::Result<std::optional<std::string>>& value) {
        if (!value) return lose_store(value.error());
        round_->server->found(rank, *value);
        perform();
    };
    const int by = round_->assignment.ranks.rank(action.local_rank);
    if (action.kind == Kind::publish)
        return round_->names.publish(by, action.text, action.value, PublishedNames::Use::always, done);
    if (action.kind == Kind::unpublish) return round_->names.unpublish(by, action.text, done);
    round_->names.look_up(by, action.text, found);
}

/// The failure names the node's first rank: all ranks need the store.
void Pmi1Service::lose_store(const base::Error& error) {
    control_->fail(0, {exit_status::kCoordinatorLost, "cannot use MPI with the other nodes: " + error.text});
}

}  // namespace dlaunch::agent
