#include "agent/mpi/pmi1_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {
namespace {

using Kind = Pmi1Action::Kind;

constexpr std::string_view kMapping = "PMI_process_mapping";
constexpr std::size_t kMostShown = 24;  // bytes of a bad line in a message

}  // namespace

Pmi1Server::Pmi1Server(Options options) : options_(std::move(options)), clients_(options_.ranks.size()) {}

void Pmi1Server::act(Kind kind, int local_rank, std::string text, std::string value, int code) {
    actions_.push_back({kind, local_rank, std::move(text), std::move(value), code});
}

void Pmi1Server::reply(int local_rank, std::string line) { act(Kind::reply, local_rank, std::move(line)); }

// --- lines -----------------------------------------------------------------------------------------------------------

/// An abort does not wait for its turn: another thread of the rank may sit in a barrier.
void Pmi1Server::line(int local_rank, std::string_view line) {
    Client& client = at(local_rank);
    if (client.is_given_up) return;
    if (client.pending == Pending::nothing || line.starts_with("cmd=abort")) return handle(local_rank, line);
    client.held_bytes += line.size() + 1;
    if (client.held_bytes > kMostHeldBytes) return endless(local_rank);
    client.held.emplace_back(line);
}

void Pmi1Server::endless(int local_rank) {
    if (!at(local_rank).is_given_up)
        give_up(local_rank, "sent more than PMI-1 allows without an end of line or a reply");
}

void Pmi1Server::give_up(int local_rank, std::string why) {
    at(local_rank).is_given_up = true;
    act(Kind::fail, local_rank, std::move(why), {}, 1);
}

void Pmi1Server::handle(int local_rank, std::string_view line) {
    if (at(local_rank).in_spawn) return spawn(local_rank, line);
    const auto request = Pmi1Request::parse(line);
    if (request) return serve(local_rank, *request);
    const std::string_view shown = line.substr(0, kMostShown);
    give_up(local_rank, fmt::format("sent no PMI-1 request but \"{}{}\"", base::printable(shown),
                                    shown.size() < line.size() ? "..." : ""));
}

void Pmi1Server::serve(int local_rank, const Pmi1Request& request) {
    const std::string_view command = request.command();
    if (command == "init") return init(local_rank, request);
    if (command == "put") return put(local_rank, request);
    if (command == "get") return get(local_rank, request);
    if (command == "barrier_in") return enter_barrier(local_rank);
    if (command == "abort") return abort(local_rank, request);
    if (command == "publish_name" || command == "unpublish_name" || command == "lookup_name")
        return name(local_rank, request);
    if (command == "mcmd") {
        Client& client = at(local_rank);
        client.in_spawn = true;
        client.spawns = client.spawns_so_far = 1;
        return;
    }
    if (command == "get_maxes")
        return reply(local_rank, fmt::format("cmd=maxes kvsname_max=256 keylen_max={} vallen_max={}", kMostKeyBytes,
                                             kMostValueBytes));
    if (command == "get_appnum")
        return reply(local_rank,
                     fmt::format("cmd=appnum appnum={}", options_.appnums[static_cast<std::size_t>(local_rank)]));
    if (command == "get_my_kvsname") return reply(local_rank, "cmd=my_kvsname kvsname=" + options_.space);
    if (command == "get_universe_size")
        return reply(local_rank, fmt::format("cmd=universe_size size={}", options_.world_size));
    if (command == "finalize") {
        at(local_rank).has_finalized = true;
        return reply(local_rank, "cmd=finalize_ack");
    }
    reply(local_rank, "cmd=error rc=-1 msg=unknown_command");
}

void Pmi1Server::init(int local_rank, const Pmi1Request& request) {
    if (request.value("pmi_version") != "1") {
        act(Kind::notice, local_rank,
            fmt::format("rank {} asks for version {} of PMI; dlaunch serves version 1",
                        options_.ranks[static_cast<std::size_t>(local_rank)],
                        base::printable(request.value("pmi_version").value_or("?").substr(0, kMostShown))));
        return reply(local_rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
    }
    at(local_rank).has_init = true;
    at(local_rank).has_finalized = false;  // a script may run several programs, one after the other
    reply(local_rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
}

/// MPI_Abort's code is the job's, as far as an exit status can hold it; 0 would look like a success.
void Pmi1Server::abort(int local_rank, const Pmi1Request& request) {
    at(local_rank).is_given_up = true;
    const auto code = pmi1_number(request.value("exitcode"));
    const auto status = static_cast<int>(static_cast<unsigned>(code.value_or(1)) & 0xFF);
    act(Kind::fail, local_rank, code ? fmt::format("called MPI_Abort with {}", *code) : "called MPI_Abort", {},
        status == 0 ? 1 : status);
}

/// Processes cannot be added to a world. The request has several lines; the last part of it is answered.
void Pmi1Server::spawn(int local_rank, std::string_view line) {
    Client& client = at(local_rank);
    const auto number_after = [&](std::string_view name) -> std::optional<int> {
        if (!line.starts_with(name)) return std::nullopt;
        return pmi1_number(line.substr(name.size()));
    };
    if (const auto total = number_after("totspawns=")) client.spawns = *total;
    if (const auto so_far = number_after("spawnssofar=")) client.spawns_so_far = *so_far;
    if (line != "endcmd") return;
    client.in_spawn = false;
    if (client.spawns_so_far < client.spawns) return;
    act(Kind::notice, local_rank,
        fmt::format("rank {} called MPI_Comm_spawn, which dlaunch does not offer: start all programs at once, as in "
                    "a : b",
                    options_.ranks[static_cast<std::size_t>(local_rank)]));
    reply(local_rank, "cmd=spawn_result rc=-1 msg=spawn_is_not_supported");
}

// --- keys ------------------------------------------------------------------------------------------------------------

void Pmi1Server::put(int local_rank, const Pmi1Request& request) {
    const auto key = request.value("key"), value = request.value("value");
    const auto refuse = [&](const char* why) { reply(local_rank, fmt::format("cmd=put_result rc=-1 msg={}", why)); };
    if (!key || key->empty() || !value) return refuse("no_key_or_value");
    if (!is_ours(request)) return refuse("unknown_kvsname");
    if (key->size() > kMostKeyBytes) return refuse("key_too_long");
    if (value->size() > kMostValueBytes) return refuse("value_too_long");
    if (key->find('=') != std::string_view::npos) return refuse("key_with_equals_sign");
    const std::size_t bytes = key->size() + value->size() + 2;
    if (space_bytes_ + bytes > kMostSpaceBytes || unshared_.size() + bytes > kMostFenceBytes)
        return refuse("space_is_full");
    keep(*key, *value);
    if (!options_.alone) unshared_ += fmt::format("{}={}\n", *key, *value);
    reply(local_rank, "cmd=put_result rc=0 msg=success");
}

void Pmi1Server::keep(std::string_view key, std::string_view value) {
    auto found = space_.find(key);
    if (found == space_.end()) {
        found = space_.emplace(key, "").first;
        space_bytes_ += key.size() + 2;
    }
    space_bytes_ += value.size() - found->second.size();
    found->second = value;
}

void Pmi1Server::get(int local_rank, const Pmi1Request& request) {
    const std::string_view key = request.value("key").value_or("");
    if (is_ours(request)) {
        if (key == kMapping && options_.mapping.size() <= kMostValueBytes)
            return reply(local_rank, "cmd=get_result rc=0 msg=success value=" + options_.mapping);
        if (const auto found = space_.find(key); found != space_.end())
            return reply(local_rank, "cmd=get_result rc=0 msg=success value=" + found->second);
    }
    reply(local_rank,
          fmt::format("cmd=get_result rc=-1 msg=key_{}_not_found value=unknown", key.substr(0, kMostKeyBytes)));
}

void Pmi1Server::name(int local_rank, const Pmi1Request& request) {
    Client& client = at(local_rank);
    const auto service = request.value("service"), port = request.value("port");
    const bool publishes = request.command() == "publish_name", looks_up = request.command() == "lookup_name";
    const auto is_port = [](std::string_view text) {  // clients read a value up to its first blank
        return text.size() <= kMostValueBytes && text.find(' ') == std::string_view::npos;
    };
    if (!service || service->size() > kMostNameBytes || (publishes && !port) || (port && !is_port(*port)))
        return reply(local_rank,
                     fmt::format("cmd={}_result info=fail rc=1 msg=bad_name_or_port", publishes  ? "publish"
                                                                                      : looks_up ? "lookup"
                                                                                                 : "unpublish"));
    client.pending = publishes ? Pending::publish : looks_up ? Pending::look_up : Pending::unpublish;
    act(publishes  ? Kind::publish
        : looks_up ? Kind::look_up
                   : Kind::unpublish,
        local_rank, std::string(*service), std::string(publishes ? *port : ""));
}

void Pmi1Server::stored(int local_rank, bool done) {
    if (at(local_rank).pending == Pending::nothing) return;
    const bool publishes = at(local_rank).pending == Pending::publish;
    const char* outcome = done        ? "info=ok rc=0 msg=success"
                          : publishes ? "info=fail rc=1 msg=service_already_published"
                                      : "info=fail rc=1 msg=service_not_found";
    reply(local_rank, fmt::format("cmd={}_result {}", publishes ? "publish" : "unpublish", outcome));
    proceed(local_rank);
}

void Pmi1Server::found(int local_rank, const std::optional<std::string>& value) {
    reply(local_rank, value ? "cmd=lookup_result info=ok rc=0 msg=success port=" + *value
                            : "cmd=lookup_result info=fail rc=1 msg=service_not_found");
    proceed(local_rank);
}

/// The pending request has its reply: serves those behind it.
void Pmi1Server::proceed(int local_rank) {
    Client& client = at(local_rank);
    client.pending = Pending::nothing;
    while (client.pending == Pending::nothing && !client.held.empty() && !client.is_given_up) {
        const std::string next = std::move(client.held.front());
        client.held.pop_front();
        client.held_bytes -= next.size() + 1;
        handle(local_rank, next);
    }
}

// --- barriers --------------------------------------------------------------------------------------------------------

bool Pmi1Server::any_waits() const {
    return std::ranges::any_of(clients_, [](const Client& client) { return client.pending == Pending::barrier; });
}

void Pmi1Server::enter_barrier(int local_rank) {
    at(local_rank).pending = Pending::barrier;
    if (std::ranges::any_of(clients_, [](const Client& client) { return client.has_ended; }))
        return blame_for_barrier();
    if (!std::ranges::all_of(clients_, [](const Client& client) { return client.pending == Pending::barrier; })) return;
    if (options_.alone) return leave_barrier();
    in_fence_ = true;
    act(Kind::fence, local_rank, std::exchange(unshared_, {}));
}

/// All ranks leave before the requests that they have sent meanwhile are served: one of these may be the next barrier.
void Pmi1Server::leave_barrier() {
    for (std::size_t index = 0; index < clients_.size(); ++index) {
        clients_[index].pending = Pending::nothing;
        reply(static_cast<int>(index), "cmd=barrier_out");
    }
    for (std::size_t index = 0; index < clients_.size(); ++index)
        if (clients_[index].pending == Pending::nothing) proceed(static_cast<int>(index));
}

/// The first ended rank is the cause: a rank waits for it.
void Pmi1Server::blame_for_barrier() {
    const auto cause = std::ranges::find_if(clients_, [](const Client& client) { return client.has_ended; });
    if (cause == clients_.end() || std::exchange(cause->is_given_up, true)) return;
    act(Kind::fail, static_cast<int>(cause - clients_.begin()),
        fmt::format("exited with 0 {}", cause->has_init ? "while ranks wait for it in MPI" : "without MPI_Init"), {},
        1);
}

void Pmi1Server::fenced(const std::vector<std::string>& nodes) {
    in_fence_ = false;
    const auto is_gone = [](const std::string& bytes) { return bytes.starts_with(kGone); };
    if (sent_gone_) {
        if (!std::ranges::all_of(nodes, is_gone)) blame_for_barrier();
        return;
    }
    if (const auto gone = std::ranges::find_if(nodes, is_gone); gone != nodes.end())
        return act(Kind::fail_late, 0,
                   fmt::format("waits for rank {}, which exited with 0 without MPI_Init",
                               base::printable(std::string_view(*gone).substr(kGone.size(), kMostShown))),
                   {}, 1);
    for (const std::string& bytes : nodes) merge(bytes);
    leave_barrier();
}

void Pmi1Server::merge(std::string_view lines) {
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos) keep(line.substr(0, equals), line.substr(equals + 1));
    }
}

std::optional<Verdict> Pmi1Server::ended(int local_rank, int status) {
    Client& client = at(local_rank);
    client.has_ended = true;
    client.pending = Pending::nothing;
    client.held.clear();
    if (status != 0) client.is_given_up = true;  // the exit itself is the failure
    if (client.is_given_up) return std::nullopt;
    if (client.has_init && !client.has_finalized) return Verdict{1, "exited with 0 before MPI_Finalize"};
    if (any_waits()) {
        blame_for_barrier();
        return std::nullopt;
    }
    if (client.has_init || options_.alone || in_fence_ || std::exchange(sent_gone_, true)) return std::nullopt;
    in_fence_ = true;
    act(Kind::fence, local_rank, fmt::format("{}{}", kGone, options_.ranks[static_cast<std::size_t>(local_rank)]));
    return std::nullopt;
}

}  // namespace dlaunch::agent
