#include "worker_lib/src/gloo/gloo_mesh.hpp"

#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>

#include "rendezvous/base/address.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/gloo/gloo_store.hpp"
#include "worker_lib/src/gloo/submission_queue.hpp"
#include "worker_lib/src/gloo/wait_timers.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

std::chrono::milliseconds left_until(Time deadline) {
    return std::max(std::chrono::milliseconds(1),
                    std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
}

/// Gloo waits for a connection five times as long as its time-out; the time-out has no other use here.
constexpr int kTimeoutsPerConnect = 5;

/// Time-out of a look at a connection.
constexpr auto kProbeTimeout = std::chrono::seconds(2);

/// Messages with one peer: each transfer has the next slot.
class GlooLane final : public mesh::Lane {
public:
    GlooLane(GlooMesh& mesh, int peer, bool sends) : mesh_(mesh), peer_(peer), sends_(sends) {}

    void transfer(std::span<std::byte> data, std::size_t& done, Time deadline) override {
        const auto buffer = mesh_.buffer(data.data(), data.size());
        const std::uint64_t slot = mesh::kMessageSlots | next_++;
        sends_ ? buffer->send(peer_, slot) : buffer->recv(peer_, slot);
        bool arrived = false;
        try {
            if (begin_wait(*buffer)) arrived = mesh_.wait(*buffer, sends_, peer_, deadline);
        } catch (...) {
            end_wait();
            throw;
        }
        end_wait();
        if (!arrived) throw mesh::Broken();
        done = data.size();
    }

    void abort() override {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
        if (!awaited_) return;
        sends_ ? awaited_->abortWaitSend() : awaited_->abortWaitRecv();
    }

private:
    bool begin_wait(gloo::transport::UnboundBuffer& buffer) {
        const std::lock_guard lock(mutex_);
        if (!aborted_) awaited_ = &buffer;
        return !aborted_;
    }
    void end_wait() {
        const std::lock_guard lock(mutex_);
        awaited_ = nullptr;
    }

    GlooMesh& mesh_;
    const int peer_;
    const bool sends_;
    std::uint64_t next_ = 0;
    std::mutex mutex_;
    gloo::transport::UnboundBuffer* awaited_ = nullptr;
    bool aborted_ = false;
};

}  // namespace

GlooMesh::GlooMesh(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline)
    : Mesh(group, store) {
    // Gloo writes to sockets without MSG_NOSIGNAL.
    struct sigaction action {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
    start([&](int& peer) { connect(members, deadline, peer); }, deadline);
}

void GlooMesh::connect(const std::vector<Member>& members, Time deadline, int& peer) {
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
    GlooStore gloo_store(group(), members, store().below("gloo"), deadline, peer);
    context_ = std::make_shared<gloo::rendezvous::Context>(rank(), size());
    context_->setTimeout(std::max(std::chrono::milliseconds(1), left_until(deadline) / kTimeoutsPerConnect));
    context_->connectFullMesh(gloo_store, device);  // also of one rank, for Gloo's own collectives: native_handle()
    probes_.resize(static_cast<std::size_t>(size()));
    for (int r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        peer = r;
        Buffer& probe = probes_[static_cast<std::size_t>(r)];
        probe = buffer(nullptr, 0);
        probe->recv(r, kProbeSlot);
    }
}

GlooMesh::~GlooMesh() {
    stop();
    probes_.clear();
    context_.reset();  // also destroys the device and joins its thread
}

GlooMesh::Buffer GlooMesh::buffer(const void* data, std::size_t bytes) {
    return context_->createUnboundBuffer(const_cast<void*>(data), bytes);
}

std::unique_ptr<mesh::Flow> GlooMesh::flow(int peer, bool sends, std::uint64_t slot, const void* data,
                                           std::size_t bytes) {
    return std::make_unique<GlooFlow>(*this, peer, sends, slot, data, bytes);
}

std::unique_ptr<mesh::Lane> GlooMesh::lane(int peer, bool sends) {
    return std::make_unique<GlooLane>(*this, peer, sends);
}

bool GlooMesh::is_broken(int peer) {
    const std::lock_guard one_at_a_time(probing_);
    gloo::transport::UnboundBuffer& probe = *probes_[static_cast<std::size_t>(peer)];
    try {
        probe.abortWaitRecv();  // makes the next wait return at once: false if the connection is open, else it throws
        probe.waitRecv(kProbeTimeout);
        return false;
    } catch (const std::exception&) {
        return true;
    }
}

void GlooMesh::end_waits() {
    const std::lock_guard lock(awaiting_);
    if (!awaited_) return;
    awaited_->abortWaitRecv();
    awaited_->abortWaitSend();
}

void GlooMesh::close_connections() {
    submission_queue_->stop();
    context_->closeConnections();
}

bool GlooMesh::wait(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline) {
    for (;;) {
        const Time until = std::min(deadline, after(mesh::kLivenessInterval));
        try {
            return timers_->wait(buffer, sends, until);
        } catch (const mesh::TimedOut&) {
            if (until == deadline) throw;
        }
        if (!is_broken(peer)) continue;
        for (const auto poll : mesh::kFinalPolls) {  // the transfer may have completed before the connection closed
            try {
                return timers_->wait(buffer, sends, after(poll));
            } catch (const mesh::TimedOut&) {
                continue;
            }
        }
        throw mesh::Broken();
    }
}

bool GlooMesh::await(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline) {
    const auto set_awaited = [this](gloo::transport::UnboundBuffer* awaited) {
        const std::lock_guard lock(awaiting_);
        awaited_ = awaited;
    };
    set_awaited(&buffer);
    bool done = false;
    try {
        check_usable();
        done = wait(buffer, sends, peer, deadline);
    } catch (...) {
        set_awaited(nullptr);
        throw;
    }
    set_awaited(nullptr);
    check_usable();
    return done;
}

GlooFlow::~GlooFlow() {
    if (begun() > 0) mesh_.submission_queue().cancel(*this);
}

void GlooFlow::add(std::size_t offset, std::size_t bytes) { mesh_.submission_queue().add({this, offset, bytes}); }

void GlooFlow::begin_now(std::size_t offset, std::size_t bytes) noexcept {
    try {
        sends_ ? buffer_->send(peer(), slot_, offset, bytes) : buffer_->recv(peer(), slot_, offset, bytes);
    } catch (const std::exception&) {
        failed_ = std::current_exception();
        sends_ ? buffer_->abortWaitSend() : buffer_->abortWaitRecv();
    }
}

void GlooFlow::await(Time until) {
    mesh_.submission_queue().submit();
    if (!mesh_.await(*buffer_, sends_, peer(), until)) std::rethrow_exception(failed_);
}

}  // namespace dlaunch::worker::gloo_backend
