#include <dlaunch/process_group.hpp>

#include <functional>

#include "worker_lib/src/member.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch {
namespace {

using worker::Group;

worker::Transfer make_transfer(bool sends, const ConstBuffer& data, int peer, int tag, bool background) {
    worker::Transfer transfer;
    transfer.sends = sends;
    transfer.data = const_cast<void*>(data.data);
    transfer.count = data.count;
    transfer.type = data.type;
    transfer.device = data.device;
    transfer.stream = data.stream;
    transfer.peer = peer;
    transfer.tag = tag;
    transfer.background = background;
    return transfer;
}

/// True: the two valid buffers have bytes in common.
bool overlap(const ConstBuffer& a, const ConstBuffer& b) {
    const auto *const a_begin = static_cast<const std::byte*>(a.data), *const b_begin =
                                                                           static_cast<const std::byte*>(b.data);
    const std::size_t a_bytes = a.count * size_of(a.type), b_bytes = b.count * size_of(b.type);
    return a_bytes > 0 && b_bytes > 0 && std::less<>()(a_begin, b_begin + b_bytes) &&
           std::less<>()(b_begin, a_begin + a_bytes);
}

Received finish(const std::shared_ptr<worker::WorkState>& state) {
    state->join();
    state->rethrow();
    return state->received();
}

}  // namespace

int ProcessGroup::rank() const { return group_ ? group_->rank() : -1; }
int ProcessGroup::size() const { return group_ ? group_->size() : 0; }
const std::string& ProcessGroup::name() const { return held(group_).parts().name; }
std::string ProcessGroup::backend() const { return held(group_).backend_name(); }
const std::vector<int>& ProcessGroup::ranks() const { return held(group_).parts().ranks; }
Store ProcessGroup::store() const { return Store(std::make_shared<worker::StoreHandle>(held(group_).user_store())); }
ProcessGroup ProcessGroup::new_group(std::span<const int> ranks, const GroupOptions& options) const {
    return ProcessGroup(member(group_, __func__).make_subgroup(ranks, options));
}
ProcessGroup ProcessGroup::split(int color, int key, const GroupOptions& options) const {
    return ProcessGroup(member(group_, __func__).split(color, key, options));
}
void* ProcessGroup::native_handle(std::string_view backend) const {
    return member(group_, __func__).native_handle(backend);
}
void ProcessGroup::abort(const std::string& why) { member(group_, __func__).abort(why); }

// --- messages --------------------------------------------------------------------------------------------------------

void ProcessGroup::send(ConstBuffer data, int to, const SendOptions& options) const {
    finish(member(group_, __func__).post(make_transfer(true, data, to, options.tag, false), options.timeout));
}

Received ProcessGroup::recv(MutableBuffer data, int from, const RecvOptions& options) const {
    Group& group = member(group_, __func__);
    worker::Transfer transfer = make_transfer(false, data, from, options.tag, false);
    transfer.up_to = options.up_to;
    return finish(group.post(transfer, options.timeout));
}

Work ProcessGroup::isend(AsyncConstBuffer data, int to, const SendOptions& options) const {
    Group& group = member(group_, __func__);
    return Work(group.post(make_transfer(true, data, to, options.tag, true), options.timeout), group_);
}

Work ProcessGroup::irecv(MutableBuffer data, int from, const RecvOptions& options) const {
    Group& group = member(group_, __func__);
    worker::Transfer transfer = make_transfer(false, data, from, options.tag, true);
    transfer.up_to = options.up_to;
    return Work(group.post(transfer, options.timeout), group_);
}

Received ProcessGroup::sendrecv(ConstBuffer out, int to, MutableBuffer in, int from,
                                const SendRecvOptions& options) const {
    Group& group = member(group_, __func__);
    std::vector<worker::Transfer> transfers{make_transfer(true, out, to, options.send_tag, false),
                                            make_transfer(false, in, from, options.recv_tag, false)};
    transfers[1].up_to = options.up_to;
    if (worker::is_valid(out) && worker::is_valid(in) && overlap(out, in))
        throw Error(ErrorCode::invalid_argument,
                    "sendrecv in group " + name() + ": out and in overlap: pass memory of its own for in", {},
                    {"sendrecv", 0, name()});
    std::vector<Work> works = group.post(std::move(transfers), options.timeout);
    wait_all(works);
    return works[1].received();
}

P2POp send_op(AsyncConstBuffer data, int to, int tag) {
    const MutableBuffer buffer(const_cast<void*>(data.data), data.count, data.type, data.device, data.stream);
    return {P2POp::Kind::send, buffer, to, tag};
}

P2POp recv_op(MutableBuffer data, int from, int tag) { return {P2POp::Kind::recv, data, from, tag}; }

std::vector<Work> ProcessGroup::batch_isend_irecv(std::span<const P2POp> ops, const CallOptions& options) const {
    Group& group = member(group_, __func__);
    std::vector<worker::Transfer> transfers;
    for (const P2POp& op : ops)
        transfers.push_back(make_transfer(op.kind == P2POp::Kind::send, op.data, op.peer, op.tag, true));
    return group.post(std::move(transfers), options.timeout);
}

// --- strings ---------------------------------------------------------------------------------------------------------

void ProcessGroup::broadcast_object(std::string& object, int root, const CallOptions& options) const {
    member(group_, __func__);
    std::uint64_t size = object.size();
    broadcast(size, root, options);
    object.resize(size);
    broadcast(object, root, options);
}

std::vector<std::string> ProcessGroup::all_gather_object(const std::string& object, const CallOptions& options) const {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(member(group_, __func__).size()));
    all_gather(object.size(), sizes, options);
    std::string all(sum(sizes), '\0');
    all_gatherv(object, all, sizes, options);
    std::vector<std::string> objects;
    for (std::size_t at = 0; const std::size_t size : sizes) {
        objects.push_back(all.substr(at, size));
        at += size;
    }
    return objects;
}

std::vector<std::string> ProcessGroup::gather_object(const std::string& object, int root,
                                                     const CallOptions& options) const {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(member(group_, __func__).size()));
    all_gather(object.size(), sizes, options);
    std::string all(rank() == root ? sum(sizes) : 0, '\0');
    gatherv(object, all, sizes, root, options);
    std::vector<std::string> objects;
    for (std::size_t at = 0; rank() == root && objects.size() < sizes.size(); at += sizes[objects.size() - 1])
        objects.push_back(all.substr(at, sizes[objects.size()]));
    return objects;
}

}  // namespace dlaunch
