#include "worker_lib/src/gloo/mesh.hpp"

#include <fmt/format.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <sstream>

#include "rendezvous/base/address.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/gloo/frames.hpp"
#include "worker_lib/src/gloo/gloo_store.hpp"
#include "worker_lib/src/gloo/submission_queue.hpp"
#include "worker_lib/src/gloo/wait_timers.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

std::chrono::milliseconds left_until(Time deadline) {
    return std::max(std::chrono::milliseconds(1),
                    std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
}

std::string reason_key(int rank) { return fmt::format("gave up/{}", rank); }
/// "CODE CALL COUNT RANK... TEXT".
std::string write_reason(const Error& why) {
    const auto& ranks = why.ranks();
    return fmt::format("{} {} {} {}{}{}", static_cast<int>(why.code()), why.sequence(), ranks.size(),
                       fmt::join(ranks, " "), ranks.empty() ? "" : " ", why.what());
}
Mesh::Reason read_reason(int named, const std::string& reason) {
    std::istringstream fields(reason);
    int code = 0;
    std::uint64_t sequence = 0;
    std::size_t count = 0;
    fields >> code >> sequence >> count;
    std::vector<int> ranks;
    for (int r = 0; ranks.size() < count && fields >> r;) ranks.push_back(r);
    std::string text;
    std::getline(fields >> std::ws, text, '\0');
    return {{static_cast<ErrorCode>(code), fmt::format("rank {} gave up: {}", named, text), ranks, {}}, sequence};
}

/// Gloo waits for a connection five times as long as its time-out; the time-out has no other use here.
constexpr int kTimeoutsPerConnect = 5;

/// Time-out of store requests after a failure.
constexpr auto kStoreTimeout = std::chrono::seconds(2);

}  // namespace

Mesh::Mesh(GroupInfo group, const std::vector<Member>& members, StoreHandle store, Time deadline)
    : group_(std::move(group)), store_(std::move(store)) {
    // Gloo writes to sockets without MSG_NOSIGNAL.
    struct sigaction action {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
    int peer = -1;
    try {
        connect(members, deadline, peer);
    } catch (const Error& error) {
        if (frames_) give_up(error);  // publish the reason before the connections close
        throw;
    } catch (const std::exception& error) {
        store_.check_liveness();  // throws if a rank is lost or has published a failure
        const bool late = Clock::now() >= deadline;
        throw Error(
            late ? ErrorCode::timeout : ErrorCode::backend,
            fmt::format("gloo: group {}: rank {} cannot connect {}: {}", group_.name, group_.named(group_.rank),
                        peer < 0 ? "to the others" : fmt::format("to rank {}", group_.named(peer)), error.what()),
            peer < 0 ? std::vector<int>{} : std::vector<int>{peer}, {"new_group", 0, group_.name});
    }
}

void Mesh::connect(const std::vector<Member>& members, Time deadline, int& peer) {
    gloo::transport::tcp::attr attributes;
    const bool one_host = std::all_of(members.begin(), members.end(),
                                      [&](const Member& m) { return m.host_id == members.front().host_id; });
    if (const auto interface = variable("GLOO_SOCKET_IFNAME"))
        attributes.iface = *interface;
    else
        attributes.hostname = one_host ? "127.0.0.1" : base::reachable_address();
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    timers_ = std::make_unique<WaitTimers>(dynamic_cast<gloo::transport::tcp::Device&>(*device));
    submission_queue_ = std::make_unique<SubmissionQueue>(dynamic_cast<gloo::transport::tcp::Device&>(*device));
    GlooStore store(group_, members, store_.below("gloo"), deadline, peer);
    context_ = std::make_shared<gloo::rendezvous::Context>(group_.rank, group_.size);
    context_->setTimeout(std::max(std::chrono::milliseconds(1), left_until(deadline) / kTimeoutsPerConnect));
    context_->connectFullMesh(store, device);  // also of one rank, for Gloo's own collectives: native_handle()
    probes_.resize(static_cast<std::size_t>(group_.size));
    for (int r = 0; r < group_.size; ++r) {
        if (r == group_.rank) continue;
        peer = r;
        Buffer& probe = probes_[static_cast<std::size_t>(r)];
        probe = buffer(nullptr, 0);
        probe->recv(r, kProbeSlot);
    }
    frames_ = std::make_unique<Frames>(*this);
    // A barrier: no rank may use or leave the mesh before all ranks have connected.
    Call hello;
    hello.deadline = deadline;
    run_collective(RankSubset(*this), hello);
}

Mesh::~Mesh() {
    frames_.reset();
    probes_.clear();
    context_.reset();  // also destroys the device and joins its thread
}

Mesh::Buffer Mesh::buffer(const void* data, std::size_t bytes) {
    return context_->createUnboundBuffer(const_cast<void*>(data), bytes);
}

Error Mesh::translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const {
    {
        const std::lock_guard lock(mutex_);
        if (why_) return interrupted(*why_, where);
    }
    // After a SIGSTOP of this process both sides have timed out: prefer the reason that the peer published for this
    // call.
    if (dynamic_cast<const TimedOut*>(&thrown))
        if (const auto why = given_up(peer, where)) return *why;
    const Error why = blame(thrown, peer, began);
    return failure(why.code(), where, why.ranks(), why.what());
}

Error Mesh::blame(const std::exception& thrown, int peer, Time began) const {
    {
        const std::lock_guard lock(mutex_);
        if (why_) return *why_;
    }
    if (dynamic_cast<const TimedOut*>(&thrown))
        return {ErrorCode::timeout,
                fmt::format("rank {} waited {} for rank {}", group_.named(group_.rank), describe(Clock::now() - began),
                            group_.named(peer)),
                {peer},
                {}};
    if (const auto published = reason(peer)) return published->why;
    return {ErrorCode::peer_lost,
            fmt::format("rank {} is gone: it ended, or left the group", group_.named(peer)),
            {peer},
            {}};
}

std::optional<Mesh::Reason> Mesh::reason(int peer) const {
    try {
        const std::vector<std::string> keys{reason_key(peer)};
        const Time soon = Clock::now() + kStoreTimeout;
        if (store_.check(keys, soon)) return read_reason(group_.named(peer), store_.get(keys[0], soon));
    } catch (const Error&) {
        // The store is gone; the caller uses its own finding.
    }
    return std::nullopt;
}

bool Mesh::is_broken(int peer) {
    const std::lock_guard one_at_a_time(probing_);
    gloo::transport::UnboundBuffer& probe = *probes_[static_cast<std::size_t>(peer)];
    try {
        probe.abortWaitRecv();  // makes the next wait return at once: false if the connection is open, else it throws
        probe.waitRecv(kStoreTimeout);
        return false;
    } catch (const std::exception&) {
        return true;
    }
}

std::optional<Error> Mesh::given_up(int peer, const Error::Where& call) const {
    const auto published = reason(peer);
    if (!published || call.sequence == 0 || published->sequence != call.sequence) return std::nullopt;
    return failure(published->why.code(), call, published->why.ranks(), published->why.what());
}

void Mesh::interrupt(const Error& why) {
    const std::lock_guard lock(mutex_);
    if (why_) return;
    why_ = std::make_unique<Error>(why);
    if (!awaited_) return;
    awaited_->abortWaitRecv();
    awaited_->abortWaitSend();
}

void Mesh::give_up(const Error& why) {
    interrupt(why);
    if (published_.exchange(true)) return;
    try {
        store_.set(reason_key(group_.rank), write_reason(why), Clock::now() + kStoreTimeout);
    } catch (const Error&) {
        // The store is gone; the peers see closed connections and report this rank as lost.
    }
    submission_queue_->stop();
    context_->closeConnections();
}

void Mesh::check_usable() const {
    const std::lock_guard lock(mutex_);
    if (!why_) return;
    throw ended_before(*why_, group_.name);
}

bool Mesh::wait(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline) {
    for (;;) {
        const Time until = std::min(deadline, after(kLivenessInterval));
        try {
            return timers_->wait(buffer, sends, until);
        } catch (const TimedOut&) {
            if (until == deadline) throw;
        }
        if (!is_broken(peer)) continue;
        for (const auto poll : kFinalPolls) {  // the transfer may have completed before the connection closed
            try {
                return timers_->wait(buffer, sends, after(poll));
            } catch (const TimedOut&) {
                continue;
            }
        }
        throw Broken();
    }
}

bool Mesh::await(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline) {
    {
        const std::lock_guard lock(mutex_);
        awaited_ = why_ ? nullptr : &buffer;
    }
    check_usable();
    const auto forget = [&] {
        const std::lock_guard lock(mutex_);
        awaited_ = nullptr;
    };
    bool done = false;
    try {
        done = wait(buffer, sends, peer, deadline);
    } catch (...) {
        forget();
        throw;
    }
    forget();
    check_usable();
    return done;
}

std::byte* Mesh::scratch(std::size_t bytes) {
    if (bytes > scratch_bytes_) {
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        scratch_bytes_ = bytes;
    }
    return scratch_.get();
}

RankSubset::RankSubset(Mesh& mesh) : mesh_(mesh), rank_(mesh.rank()), ranks_(static_cast<std::size_t>(mesh.size())) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
}

RankSubset::RankSubset(Mesh& mesh, std::vector<int> ranks, std::uint64_t slots)
    : mesh_(mesh),
      rank_(static_cast<int>(std::find(ranks.begin(), ranks.end(), mesh.rank()) - ranks.begin())),
      slots_(slots),
      ranks_(std::move(ranks)) {}

Flow::~Flow() {
    if (begun_ > 0) mesh_.submission_queue().cancel(*this);
}

void Flow::begin(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    mesh_.submission_queue().add({this, offset, bytes});
    ++begun_;
}

void Flow::begin_now(std::size_t offset, std::size_t bytes) noexcept {
    try {
        sends_ ? buffer_->send(peer_, slot_, offset, bytes) : buffer_->recv(peer_, slot_, offset, bytes);
    } catch (const std::exception&) {
        failed_ = std::current_exception();
        sends_ ? buffer_->abortWaitSend() : buffer_->abortWaitRecv();
    }
}

bool Flow::wait(const Call& call, Time until) {
    if (begun_ == 0) return true;
    mesh_.submission_queue().submit();
    const Time began = Clock::now();
    try {
        if (!mesh_.await(*buffer_, sends_, peer_, std::min(until, call.deadline.at()))) std::rethrow_exception(failed_);
    } catch (const std::exception& error) {
        if (until < call.deadline.at() && dynamic_cast<const TimedOut*>(&error)) return false;
        throw mesh_.translate(error, peer_, where(call, mesh_.group().name), began);
    }
    --begun_;
    return true;
}

}  // namespace dlaunch::worker::gloo_backend
