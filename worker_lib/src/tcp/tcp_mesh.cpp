#include "worker_lib/src/tcp/tcp_mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <system_error>
#include <thread>

#include "rendezvous/base/address.hpp"
#include "rendezvous/base/connect.hpp"
#include "rendezvous/net/addresses.hpp"
#include "worker_lib/src/bootstrap/cores.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/mesh/backend.hpp"

namespace dlaunch::worker::tcp {
namespace {

/// Looks at the awaited socket before a rank sleeps, if every rank of the host has a core. To wake a sleeping rank
/// costs about 10 us; 200 looks take about 60 us. Each eighth look is at all sockets.
constexpr int kSpins = 200, kSpinsPerLookAtAll = 8;

/// The most time in which a rank that leaves waits until its peers have received all that it sent. A connection that is
/// closed while it has unread bytes drops those that it has not sent.
constexpr std::chrono::milliseconds kLeavingTime{1000};
constexpr std::chrono::microseconds kLeavingPoll{200};

constexpr int kEventsAtOnce = 64;

std::string own_address(const std::vector<Member>& members) {
    if (const auto interface = variable("GLOO_SOCKET_IFNAME")) {
        std::string address = rendezvous::address_of_interface(*interface);
        if (address.empty())
            throw std::runtime_error(
                fmt::format("GLOO_SOCKET_IFNAME={}: this host has no such interface with an address", *interface));
        return address;
    }
    const bool one_host = std::all_of(members.begin(), members.end(),
                                      [&](const Member& m) { return m.host_id == members.front().host_id; });
    if (one_host) return "127.0.0.1";
    for (const char* name : {"DLAUNCH_MASTER_HOST", "MASTER_ADDR"}) {  // of the network that the job uses
        const std::string address = rendezvous::own_address_towards(variable(name).value_or(""));
        if (!address.empty() && !rendezvous::is_loopback(address)) return address;
    }
    return base::reachable_address();
}

class TcpFlow final : public mesh::Flow {
public:
    TcpFlow(TcpMesh& mesh, int peer, bool sends, std::uint64_t slot, const void* data)
        : Flow(mesh, peer),
          mesh_(mesh),
          sends_(sends),
          slot_(slot),
          data_(static_cast<std::byte*>(const_cast<void*>(data))) {}
    ~TcpFlow() override {
        if (begun() > 0) mesh_.connection(peer()).cancel(&completed_);
    }

private:
    void add(std::size_t offset, std::size_t bytes) override {
        const Connection::Transfer transfer{slot_, data_ + offset, bytes, &completed_};
        sends_ ? mesh_.connection(peer()).send(transfer) : mesh_.connection(peer()).receive(transfer);
        mesh_.set_changed(peer());
    }
    void await(Time until) override { mesh_.await(completed_, peer(), sends_, until); }

    TcpMesh& mesh_;
    const bool sends_;
    const std::uint64_t slot_;
    std::byte* const data_;
    int completed_ = 0;  // transfers that have ended and have not been waited for
};

}  // namespace

TcpMesh::TcpMesh(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
    : Mesh(group, store),
      connections_(members.size()),
      wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ready_(epoll_create1(EPOLL_CLOEXEC)) {
    if (have_core_each(members, members[static_cast<std::size_t>(group.rank)].host_id)) spins_ = kSpins;
    start([&](int& peer) { connect(members, deadline, peer); }, deadline);
}

void TcpMesh::connect(const std::vector<Member>& members, Time deadline, int& peer) {
    epoll_event event{EPOLLIN, {.fd = rank()}};
    if (!wakeup_ || !ready_ || epoll_ctl(ready_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
    auto acceptor = std::make_unique<Acceptor>(own_address(members));
    std::vector<int> ranks(members.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    auto invitations = roll_call(store().below("tcp"), {"new_group", 0, group().name}, ranks, rank(), group().names,
                                 acceptor->invitation(), deadline);
    for (peer = 0; peer < rank(); ++peer) {
        base::UniqueFd socket;
        while (!(socket = tcp::connect(invitations[static_cast<std::size_t>(peer)], rank(), Purpose::collectives,
                                       std::min(deadline, after(mesh::kLivenessInterval))))) {
            store().check_liveness();
            if (Clock::now() >= deadline) throw mesh::TimedOut();
        }
        add(peer, std::move(socket));
    }
    peer = -1;
    accept_higher_ranks(*acceptor, deadline);
    lanes_ = std::make_unique<Lanes>(rank(), spins_, std::move(acceptor), std::move(invitations));
}

void TcpMesh::accept_higher_ranks(Acceptor& acceptor, Time deadline) {
    const Time began = Clock::now();
    for (int missing = size() - 1 - rank(); missing > 0;) {
        while (auto accepted = acceptor.accept(size())) {
            if (accepted->purpose != Purpose::collectives || connections_[static_cast<std::size_t>(accepted->rank)])
                continue;
            add(accepted->rank, std::move(accepted->socket));
            --missing;
        }
        if (missing == 0) break;
        store().check_liveness();
        if (Clock::now() >= deadline) {
            std::vector<int> late;
            for (int r = rank() + 1; r < size(); ++r)
                if (!connections_[static_cast<std::size_t>(r)]) late.push_back(r);
            const std::string who = group().names.list(late);
            throw failure(
                ErrorCode::timeout, {"new_group", 0, group().name}, std::move(late),
                fmt::format("rank {} waited {} for {}", group().named(rank()), describe(Clock::now() - began), who));
        }
        (void)base::await_ready(acceptor.socket(), POLLIN, std::min(deadline, after(mesh::kLivenessInterval)));
    }
}

void TcpMesh::add(int peer, base::UniqueFd socket) {
    epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.fd = peer}};
    if (epoll_ctl(ready_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    connections_[static_cast<std::size_t>(peer)] = std::make_unique<Connection>(std::move(socket));
}

TcpMesh::~TcpMesh() {
    stop();
    for (const auto& connection : connections_)
        if (connection) shutdown(connection->socket(), SHUT_WR);
    const Time until = after(kLeavingTime);
    for (const auto& connection : connections_) {
        int unsent = 0;
        while (connection && ioctl(connection->socket(), TIOCOUTQ, &unsent) == 0 && unsent > 0 && Clock::now() < until)
            std::this_thread::sleep_for(kLeavingPoll);
    }
}

std::unique_ptr<mesh::Flow> TcpMesh::flow(int peer, bool sends, std::uint64_t slot, const void* data, std::size_t) {
    return std::make_unique<TcpFlow>(*this, peer, sends, slot, data);
}

std::unique_ptr<mesh::Lane> TcpMesh::lane(int peer, bool sends) {
    return lanes_->make(peer, sends, connection(peer).socket());
}

bool TcpMesh::is_broken(int peer) {
    pollfd connection_ends{connection(peer).socket(), POLLRDHUP, 0};
    return poll(&connection_ends, 1, 0) > 0;
}

void TcpMesh::end_waits() { eventfd_write(wakeup_.get(), 1); }

void TcpMesh::close_connections() {
    if (lanes_) lanes_->close();
    for (const auto& connection : connections_)
        if (connection) shutdown(connection->socket(), SHUT_RDWR);
}

void TcpMesh::await(int& completed, int peer, bool sends, Time until) {
    if (!changed_.empty()) (void)progress_ready(Time{});  // a peer that has left gets nothing: the call cannot succeed
    for (const int changed : changed_) connection(changed).progress();
    changed_.clear();
    Connection& awaited = connection(peer);
    for (int spins = spins_;; --spins) {
        if (completed > 0) {
            --completed;
            return;
        }
        if (sends ? awaited.ended_out() : awaited.ended_in()) throw mesh::Broken();
        if (spins > 0 && spins % kSpinsPerLookAtAll != 0) {
            awaited.set_ready(!sends, false);
            awaited.progress();
        } else if (!progress_ready(spins > 0 ? Time{} : until) && spins <= 0 && Clock::now() >= until) {
            throw mesh::TimedOut();
        }
    }
}

/// Waits for events and progresses their connections. False: none came until `until`.
bool TcpMesh::progress_ready(Time until) {
    std::int64_t most = 0;
    if (until != Time{}) most = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    epoll_event events[kEventsAtOnce];
    const int count =
        epoll_wait(ready_.get(), events, kEventsAtOnce, static_cast<int>(std::clamp<std::int64_t>(most, 0, 1 << 30)));
    for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == rank()) {
            check_usable();
            continue;
        }
        Connection& one = connection(events[i].data.fd);
        const auto has = [&](std::uint32_t bits) { return (events[i].events & bits) != 0; };
        one.set_ready(has(EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR), has(EPOLLOUT | EPOLLHUP | EPOLLERR));
        if (has(EPOLLRDHUP)) one.set_left();
        one.progress();
    }
    return count > 0;
}

std::unique_ptr<Backend> make_backend(const GroupInfo& group, const std::vector<Member>& members,
                                      const StoreHandle& store, Time deadline) {
    return mesh::make_backend("tcp", std::make_unique<TcpMesh>(group, members, store, deadline));
}

}  // namespace dlaunch::worker::tcp
